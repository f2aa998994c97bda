//! Why an expression or a variable comes to nothing.

use thiserror::Error;

use super::arguments::UnreadableDefinition;

/// Why an expression or a variable comes to nothing.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ValueError {
    /// A text of no letters.
    #[error("it is empty: neither a number nor true, false or null")]
    Empty,
    /// A text that means no value.
    #[error("'{0}' is neither a number nor true, false or null")]
    NoValue(Box<str>),
    /// Anything but a boolean, if only a boolean will do.
    #[error("{0} is no boolean")]
    NoBoolean(Box<str>),
    /// Anything but a number, if only a number will do.
    #[error("{0} is no number")]
    NoNumber(Box<str>),
    /// Beyond 64 bits.
    #[error("{0} does not fit an integer")]
    BeyondIntegers(Box<str>),
    /// Beyond what a double holds.
    #[error("{0} does not fit a double")]
    BeyondDoubles(Box<str>),
    #[error("{0} is divided by zero")]
    DividedByZero(i64),
    /// The first bound is above the second.
    #[error("no number lies from {0} up to {1}")]
    NoRange(i64, i64),
    /// More numbers than 64 bits count.
    #[error("from {0} to {1} there are too many numbers to draw from")]
    TooWide(i64, i64),
    /// A distribution's parameter.
    #[error("{0}, not {1}")]
    Parameter(&'static str, f64),
    /// What is shuffled.
    #[error("permute needs a size above 0, not {0}")]
    NoSize(i64),
    /// A variable whose text comes to nothing.
    #[error(":{0}: {1}")]
    Of(Box<str>, Box<Self>),
    /// A variable that nothing has set; and those that are.
    #[error("nothing has set :{0}; there are: {1}")]
    Unset(Box<str>, Box<str>),
    /// A variable whose text is no time.
    #[error(":{0} is '{1}', no time")]
    NoTime(Box<str>, Box<str>),
    /// What cannot be a variable's name.
    #[error(transparent)]
    Name(Box<UnreadableDefinition>),
}
