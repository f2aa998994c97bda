//! What is wrong with a connection, or with what comes over it.

/// In words, for whoever reports it to the protocol's makers or to us.
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

/// A call that fails by it is told in words, as those are that the server refuses.
impl From<Wrong> for String {
    fn from(error: Wrong) -> Self {
        error.0
    }
}
