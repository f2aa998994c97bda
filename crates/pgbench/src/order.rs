//! The parts of a script.

use super::expression::Expression;
use super::names::Name;
use super::place::Place;

#[derive(Clone, Debug)]
pub struct Command {
    pub at: Place,
    /// With `$1`, `$2`, … for its variables.
    pub sql: String,
    pub variables: Vec<Name>,
    /// Set if its answer becomes variables.
    pub keeps: Option<Keeps>,
}

/// `\gset` or `\aset`.
#[derive(Clone, Debug)]
pub struct Keeps {
    /// Precedes the columns' names in the variables' names.
    pub prefix: String,
    /// Exactly one row: `\gset`.
    pub needs_one_row: bool,
}

/// A step. Branches have become jumps, which only go forward.
#[derive(Clone, Debug)]
pub struct Order {
    pub at: Place,
    pub does: Does,
}

#[derive(Clone, Debug)]
pub enum Does {
    Send(usize),
    Set {
        name: Name,
        expression: Expression,
    },
    /// Jumps if the condition is false.
    Unless {
        condition: Expression,
        goes_to: usize,
    },
    GoTo(usize),
    Sleep(Pause),
    Pipeline(Pipeline),
}

#[derive(Clone, Debug)]
pub struct Pause {
    pub amount: Amount,
    pub unit_us: i64,
}

#[derive(Clone, Debug)]
pub enum Amount {
    Fixed(i64),
    Variable(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipeline {
    Start,
    /// The server finishes pending commands; the pipeline continues.
    Sync,
    /// Syncs and waits for all answers.
    End,
}
