//! Options, begin and outcome of a run.

use hopcost_core::{
    Effort, Experiment, ExperimentResult, Known, Machine, ProbeReport, Reason, Verdict,
};
use hopcost_method::judge::result::ResultOf;
use hopcost_store::{NewRun, Store, StoreError};

use serde::{Deserialize, Serialize};

use super::host::Host;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunOptions {
    /// Resume the latest killed or interrupted run of equal identity.
    pub resume: bool,
    /// Store begin and end of each call.
    pub raw_calls: bool,
    /// Compare with the first run of this name, or become it.
    pub baseline: Option<String>,
    /// As typed by the user. Secrets in a URL are removed before it is stored.
    pub command_line: Vec<String>,
}

#[derive(Debug)]
pub struct Ran {
    pub id: i64,
    /// `None` if it was interrupted.
    pub result: Option<ExperimentResult>,
    pub(crate) needs_a_start: bool,
    pub reports: Vec<ProbeReport>,
}

impl Ran {
    pub(crate) fn interrupted(id: i64) -> Self {
        Self { id, result: None, needs_a_start: false, reports: Vec::new() }
    }
}

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

pub fn not_applicable(
    experiment: &Experiment,
    target: Known<String>,
    reason: &Reason,
    emulated: bool,
) -> ExperimentResult {
    ResultOf::of(experiment, target, emulated).without_figure(Verdict::NotApplicable, reason)
}
