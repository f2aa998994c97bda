//! What came, or is to be sent, is not of the form that the protocol says.

/// Why a value cannot be read or written, in words for whoever reports it to the protocol's makers or to us.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

impl From<String> for Malformed {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Malformed {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// A call that fails by it is told in words, as those are that the server refuses.
impl From<Malformed> for String {
    fn from(error: Malformed) -> Self {
        error.0
    }
}
