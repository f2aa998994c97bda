//! Runs an experiment to a verdict, and stores every block.

mod baseline;
mod command_line;
mod database;
mod hardware;
mod host;
mod in_starts;
mod network;
mod off_line;
mod ran;

use hopcost_core::{Machine, Subject};
use hopcost_store::Store;

pub(crate) use command_line::quoted;
pub(crate) use hardware::probes;
pub(crate) use host::Host;
pub(crate) use in_starts::serve_if_asked;
pub(crate) use off_line::wanted as off_line;
#[cfg(test)]
pub(crate) use ran::begin;
pub use ran::{Ran, RunOptions};

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
                if here.has_one_start() {
                    database::run(&here, options, store, control)
                } else {
                    in_starts::run(self, prepared, options, machine, store, control)
                }
            }
        }
    }
}
