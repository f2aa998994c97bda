//! No connection came about, or it did not become an encrypted one.

/// Why a server is not connected to, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotConnected(String);

impl From<String> for NotConnected {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for NotConnected {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// A connection that is lost is told in words, whenever that is.
impl From<NotConnected> for String {
    fn from(error: NotConnected) -> Self {
        error.0
    }
}
