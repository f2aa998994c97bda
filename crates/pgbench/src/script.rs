//! A parsed script.

use super::order::{Command, Order};
use super::place::{Place, RunError};
use super::session::{Parameter, Session};
use super::wrong::ValueError;

#[derive(Clone, Debug)]
pub struct Script {
    pub(super) name: String,
    pub(super) given: Vec<(String, String)>,
    pub(super) commands: Vec<Command>,
    pub(super) orders: Vec<Order>,
}

impl Script {
    pub fn prepare(&self, session: &mut Session) -> Result<(), ValueError> {
        self.given.iter().try_for_each(|(name, value)| session.define(name, value))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// With `$1`, `$2`, … for variables, so that each can be prepared once.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = &str> {
        self.commands.iter().map(|command| command.sql.as_str())
    }

    /// If so, [`Walk::answered`] needs the command's rows.
    pub fn wants_rows(&self, command: usize) -> bool {
        self.commands[command].keeps.is_some()
    }

    pub fn parameter_count(&self, command: usize) -> usize {
        self.commands[command].variables.len()
    }

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

    pub fn refused(&self, command: usize, says: impl Into<String>) -> RunError {
        self.wrong(self.commands[command].at, says)
    }

    pub(super) fn wrong(&self, at: Place, says: impl Into<String>) -> RunError {
        RunError { name: self.name.clone(), at, says: says.into() }
    }
}
