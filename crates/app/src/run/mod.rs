//! Runs an experiment to a verdict, and stores every block.

mod baseline;
mod command_line;
mod database;
mod hardware;
mod host;
mod network;
mod off_line;
mod ran;

use hopcost_core::{Machine, Subject};
use hopcost_store::Store;

pub(crate) use command_line::quoted;
pub(crate) use hardware::probes;
pub(crate) use off_line::wanted as off_line;
pub use ran::{Ran, RunOptions};
#[cfg(test)]
pub(crate) use {host::Host, ran::begin};

use crate::on_database::OnDatabase;
use crate::{App, Control, Outcome, Prepared};

impl App {
    /// Rejects invalid options before anything is measured.
    pub fn can_run(&self, prepared: &Prepared, options: &RunOptions) -> Outcome<()> {
        baseline::can_be_kept(options.baseline.as_deref(), &prepared.experiment)
    }

    pub fn run(
        &self,
        prepared: &Prepared,
        options: &RunOptions,
        machine: &Machine,
        store: &mut Store,
        control: &mut Control<'_>,
    ) -> Outcome<Ran> {
        let Prepared { asked, experiment } = prepared;
        match &experiment.subject {
            Subject::Hardware { .. } => hardware::run(asked, experiment, machine, store, control),
            Subject::Database(comparison) => {
                let here = OnDatabase::new(self, experiment, comparison, machine, asked)?;
                here.can_be_started_anew()?;
                database::run(&here, options, store, control)
            }
        }
    }
}
