//! A protocol error.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

impl From<String> for Wrong {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Wrong {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<Wrong> for String {
    fn from(error: Wrong) -> Self {
        error.0
    }
}
