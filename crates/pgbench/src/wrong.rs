//! Errors of expressions and variables.

use thiserror::Error;

use super::arguments::UnreadableDefinition;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum ValueError {
    #[error("it is empty: neither a number nor true, false or null")]
    Empty,
    #[error("'{0}' is neither a number nor true, false or null")]
    NoValue(Box<str>),
    #[error("{0} is no boolean")]
    NoBoolean(Box<str>),
    #[error("{0} is no number")]
    NoNumber(Box<str>),
    #[error("{0} does not fit an integer")]
    BeyondIntegers(Box<str>),
    #[error("{0} does not fit a double")]
    BeyondDoubles(Box<str>),
    #[error("{0} is divided by zero")]
    DividedByZero(i64),
    #[error("there is no number from {0} up to {1}")]
    NoRange(i64, i64),
    #[error("from {0} to {1} there are too many numbers to draw from")]
    TooWide(i64, i64),
    #[error("{0}, not {1}")]
    Parameter(&'static str, f64),
    #[error("permute needs a size above 0, not {0}")]
    NoSize(i64),
    #[error(":{0}: {1}")]
    Of(Box<str>, Box<Self>),
    /// The variable, and those that are set.
    #[error("nothing has set :{0}; there are: {1}")]
    Unset(Box<str>, Box<str>),
    #[error(":{0} is '{1}', no time")]
    NoTime(Box<str>, Box<str>),
    #[error(transparent)]
    Name(Box<UnreadableDefinition>),
}
