//! A script that has been read.

use super::expression::Expression;
use super::names::Name;
use super::place::{Place, RunError, ScriptError};
use super::reader;
use super::session::{Parameter, Session};
use super::walk::{Pipeline, Walk};
use super::wrong::ValueError;

/// What a client does in one transaction.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) name: String,
    /// Variables that are set before it begins.
    pub(super) given: Vec<(String, String)>,
    pub(super) commands: Vec<Command>,
    pub(super) orders: Vec<Order>,
}

/// An SQL command.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub at: Place,
    /// What is sent, with `$1`, `$2`, … for its variables.
    pub sql: String,
    pub variables: Vec<Name>,
    /// Its answer becomes variables.
    pub keeps: Option<Keeps>,
}

/// `\gset` or `\aset`.
#[derive(Clone, Debug)]
pub(super) struct Keeps {
    /// What the variables' names begin with, before the columns' names.
    pub prefix: String,
    /// One row, neither none nor more: `\gset`.
    pub needs_one_row: bool,
}

/// One thing after the other. Branches have become jumps, which only lead forward.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub at: Place,
    pub does: Does,
}

#[derive(Clone, Debug)]
pub(super) enum Does {
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
pub(super) struct Pause {
    pub amount: Amount,
    pub unit_us: i64,
}

#[derive(Clone, Debug)]
pub(super) enum Amount {
    Fixed(i64),
    Variable(Name),
}

impl Script {
    /// Reads it. The name is for messages.
    pub fn read(name: &str, text: &str) -> Result<Self, ScriptError> {
        Self::with(name, text, &[])
    }

    /// The same with variables that are set before it begins, and their values.
    pub fn with(name: &str, text: &str, given: &[(&str, &str)]) -> Result<Self, ScriptError> {
        reader::read(name, text, given)
    }

    /// Gives a client the variables that are set before the script begins.
    pub fn prepare(&self, session: &mut Session) -> Result<(), ValueError> {
        self.given.iter().try_for_each(|(name, value)| session.define(name, value))
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its SQL commands, with `$1`, `$2`, … for variables, so that each can be prepared once.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = &str> {
        self.commands.iter().map(|command| command.sql.as_str())
    }

    /// Does it go on with the rows that a command brings? Then [`Walk::answered`] has to be told them.
    pub fn wants_rows(&self, command: usize) -> bool {
        self.commands[command].keeps.is_some()
    }

    /// How many there are of those.
    pub fn parameter_count(&self, command: usize) -> usize {
        self.commands[command].variables.len()
    }

    /// What stands for `$1`, `$2`, … of a command now.
    pub fn parameters<'a>(
        &'a self,
        command: usize,
        session: &'a Session,
    ) -> impl Iterator<Item = Result<Parameter<'a>, RunError>> {
        let Command { at, variables, .. } = &self.commands[command];
        variables
            .iter()
            .map(|name| session.parameter(*name).map_err(|why| self.wrong(*at, why.to_string())))
    }

    /// One way through it.
    pub fn begin(&self) -> Walk<'_> {
        Walk::new(self)
    }

    /// What the database said of a command, with the command's place.
    pub fn refused(&self, command: usize, says: impl Into<String>) -> RunError {
        self.wrong(self.commands[command].at, says)
    }

    pub(super) fn wrong(&self, at: Place, says: impl Into<String>) -> RunError {
        RunError { name: self.name.clone(), at, says: says.into() }
    }
}
