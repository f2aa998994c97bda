//! Positions in a script, and errors there.

use std::fmt;

/// Both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{at}: {says}")]
pub struct ScriptError {
    pub name: String,
    pub at: Place,
    /// What is wrong, and what would be right.
    pub says: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{at}: {says}")]
pub struct RunError {
    pub name: String,
    pub at: Place,
    pub says: String,
}
