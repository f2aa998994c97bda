//! What would be said to a server, without one.

use hopcost_core::{Machine, Reason, Spoken, Subject};
use serde::Serialize;

use crate::on_database::OnDatabase;
use crate::{App, Outcome, Prepared};

/// What an experiment says to a server.
#[derive(Debug, Serialize)]
pub struct Statements {
    pub experiment: String,
    pub target: String,
    /// Why it cannot be run on this target, if so.
    pub objection: Option<Reason>,
    pub statements: Vec<Spoken>,
}

impl App {
    /// Of an experiment on a database; of another there are none.
    pub fn statements(
        &self,
        prepared: &Prepared,
        machine: &Machine,
    ) -> Outcome<Option<Statements>> {
        let Prepared { asked, experiment } = prepared;
        let Subject::Database(comparison) = &experiment.subject else { return Ok(None) };
        let here = OnDatabase::new(self, experiment, comparison, machine, asked)?;
        Ok(Some(Statements {
            experiment: experiment.name.clone(),
            target: here.url(),
            objection: here.refusal(),
            statements: here.spoken(),
        }))
    }
}
