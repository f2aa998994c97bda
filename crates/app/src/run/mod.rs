//! A run: from an experiment to a verdict, with everything kept in the store.

mod baseline;
mod command_line;
mod database;
mod hardware;
mod host;
mod off_line;

use hopcost_core::{
    Effort, Experiment, ExperimentResult, Known, Machine, ProbeReport, Reason, Subject, Verdict,
};
use hopcost_method::judge::result::ResultOf;
use hopcost_store::{NewRun, Store, StoreError};

pub(crate) use command_line::quoted;
pub(crate) use hardware::probes;
pub(crate) use host::Host;
pub(crate) use off_line::wanted as off_line;

use crate::on_database::OnDatabase;
use crate::{App, Control, Outcome, Prepared};

/// What can be asked of a run beside its experiment.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Go on with the latest run of this kind that was killed or interrupted.
    pub resume: bool,
    /// Keep the begin and the end of each call.
    pub raw_calls: bool,
    /// Compare with the first run of this name, or be it.
    pub baseline: Option<String>,
    /// The words with which a person asked for this run. They are kept with it, but for what is secret in a URL.
    pub command_line: Vec<String>,
}

/// What became of a run.
#[derive(Debug)]
pub struct Ran {
    /// Its number in the store.
    pub id: i64,
    /// Its outcome; none if it was interrupted.
    pub result: Option<ExperimentResult>,
    pub reports: Vec<ProbeReport>,
}

impl App {
    /// Can it be run with these options? What is wrong with them is told before anything is measured.
    pub fn can_run(&self, prepared: &Prepared, options: &RunOptions) -> Outcome<()> {
        baseline::can_be_kept(options.baseline.as_deref(), &prepared.experiment)
    }

    /// Measures on a machine, and keeps what is finished.
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
                database::run(&here, options, store, control)
            }
        }
    }
}

/// Writes down that a run begins; its number.
pub(crate) fn begin(
    store: &Store,
    experiment: &Experiment,
    machine: &Machine,
    host: &Host,
    (effort, seed): (Effort, u64),
    (target, identity): (Option<&str>, Option<&str>),
) -> Result<i64, StoreError> {
    store.begin(&NewRun {
        experiment: &experiment.name,
        question: &experiment.question,
        target,
        effort,
        seed,
        machine,
        begun_ns: host.begun_ns,
        identity,
        host_key: host.key,
        boot_id: &host.boot_id,
        traits: &host.traits,
    })
}

/// The result of an experiment that this machine or target cannot express.
fn not_applicable(
    experiment: &Experiment,
    target: Known<String>,
    reason: &Reason,
    emulated: bool,
) -> ExperimentResult {
    ResultOf::of(experiment, target, emulated).without_figure(Verdict::NotApplicable, reason)
}
