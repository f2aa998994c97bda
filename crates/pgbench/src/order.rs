//! What a script is made of.

use super::expression::Expression;
use super::names::Name;
use super::place::Place;

#[derive(Clone, Debug)]
pub struct Command {
    pub at: Place,
    /// What is sent, with `$1`, `$2`, … for its variables.
    pub sql: String,
    pub variables: Vec<Name>,
    /// Its answer becomes variables.
    pub keeps: Option<Keeps>,
}

/// `\gset` or `\aset`.
#[derive(Clone, Debug)]
pub struct Keeps {
    /// What the variables' names begin with, before the columns' names.
    pub prefix: String,
    /// One row, neither none nor more: `\gset`.
    pub needs_one_row: bool,
}

/// One thing after the other. Branches have become jumps, which only lead forward.
#[derive(Clone, Debug)]
pub struct Order {
    pub at: Place,
    pub does: Does,
}

#[derive(Clone, Debug)]
pub enum Does {
    /// Sends a command, by position.
    Send(usize),
    Set {
        name: Name,
        expression: Expression,
    },
    /// Goes on with another order where the condition does not hold.
    Unless {
        condition: Expression,
        goes_to: usize,
    },
    GoTo(usize),
    Sleep(Pause),
    Pipeline(Pipeline),
}

/// How long a `\sleep` lasts.
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

/// A row of commands that are sent before the first is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipeline {
    /// From here on commands are sent ahead.
    Start,
    /// The server is told to finish what it has; the pipeline goes on.
    Sync,
    /// The same, and all answers are waited for.
    End,
}
