//! What the library refuses, in its own words.

/// What the library says, or what keeps us from asking it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DuckDbError(String);

impl From<String> for DuckDbError {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for DuckDbError {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// The process that has the database tells its errors in words.
impl From<DuckDbError> for String {
    fn from(error: DuckDbError) -> Self {
        error.0
    }
}
