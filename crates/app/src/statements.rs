//! Lists the statements of an experiment without a server.

use hopcost_core::{Machine, Reason, Spoken, Subject};
use serde::Serialize;

use crate::on_database::OnDatabase;
use crate::{App, Outcome, Prepared};

#[derive(Debug, Serialize)]
pub struct Statements {
    pub experiment: String,
    pub target: String,
    /// Why the target cannot run it.
    pub objection: Option<Reason>,
    pub statements: Vec<Spoken>,
}

impl App {
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
