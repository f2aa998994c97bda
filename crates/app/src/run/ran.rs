//! What a run is asked for, how it begins in the store, and what becomes of it.

use hopcost_core::{
    Effort, Experiment, ExperimentResult, Known, Machine, ProbeReport, Reason, Verdict,
};
use hopcost_method::judge::result::ResultOf;
use hopcost_store::{NewRun, Store, StoreError};

use super::host::Host;

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

/// Writes down that a run begins; its number.
pub fn begin(
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
pub fn not_applicable(
    experiment: &Experiment,
    target: Known<String>,
    reason: &Reason,
    emulated: bool,
) -> ExperimentResult {
    ResultOf::of(experiment, target, emulated).without_figure(Verdict::NotApplicable, reason)
}
