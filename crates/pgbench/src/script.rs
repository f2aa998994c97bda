//! A script that has been read.

use super::order::{Command, Order};
use super::place::{Place, RunError};
use super::session::{Parameter, Session};
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

impl Script {
    /// Gives a client the variables that are set before the script begins.
    pub fn prepare(&self, session: &mut Session) -> Result<(), ValueError> {
        self.given.iter().try_for_each(|(name, value)| session.define(name, value))
    }

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

    /// What the database said of a command, with the command's place.
    pub fn refused(&self, command: usize, says: impl Into<String>) -> RunError {
        self.wrong(self.commands[command].at, says)
    }

    pub(super) fn wrong(&self, at: Place, says: impl Into<String>) -> RunError {
        RunError { name: self.name.clone(), at, says: says.into() }
    }
}
