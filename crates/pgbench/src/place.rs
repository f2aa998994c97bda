//! Where something stands in a script, and what is said of it.

use std::fmt;

/// A line and the character in it, both counted from 1.
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

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{at}: {says}")]
pub struct ScriptError {
    pub name: String,
    /// Where it is wrong.
    pub at: Place,
    /// What is wrong, and what would be right.
    pub says: String,
}

/// Why a script cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{at}: {says}")]
pub struct RunError {
    pub name: String,
    /// Where the command stands that cannot be carried out.
    pub at: Place,
    /// What went wrong.
    pub says: String,
}
