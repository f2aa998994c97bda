//! `hopcost run`: from an experiment to a verdict, with everything kept in the store.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use hopcost_app::catalogue;
use hopcost_core::{
    Effort, Experiment, ExperimentResult, Known, Machine, ProbeReport, Subject, Verdict,
};
use hopcost_method::judge::result::ResultOf;
use hopcost_store::{NewRun, Store, StoreError};
use hopcost_view::format;

use super::comparison::Prepared;
use super::host::Host;
use super::page::Page;
use super::{baseline, fail_if, run_database, run_hardware};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::safety::{self, Leave};

/// What became of a run.
pub struct Ran {
    /// Its number in the store.
    pub id: i64,
    /// Its outcome; none where it was interrupted.
    pub result: Option<ExperimentResult>,
    pub reports: Vec<ProbeReport>,
}

pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let experiment = catalogue::experiment(&args.experiment.name)?;
    fail_if::can_be_checked(args, &experiment)?;
    baseline::can_be_kept(args, &experiment)?;
    let wanted = wanted(args);
    output::can_be_shown(&wanted)?;
    let leave = Leave::to_load(args.allow_load.as_ref())?;
    let mut store = Store::open(&args.store).with_context(|| args.store.display().to_string())?;
    let stop = interrupt::watch()?;
    let guardian = leave.guardian(&stop)?;
    let mut progress = Progress::of(&experiment.name, Duration::ZERO);
    let ran = perform(args, &experiment, &leave.machine, &mut store, &stop, &mut progress)?;
    let (id, path) = (ran.id, args.store.display());
    let Some(result) = &ran.result else {
        safety::say_what_suffered(guardian.as_ref());
        let how = match &experiment.subject {
            Subject::Hardware { .. } => "",
            Subject::Database(_) => ": the same command with --resume goes on",
        };
        output::remark(&format!(
            "interrupted; what was finished is kept as run {id} in {path}{how}"
        ));
        return Ok(Exit::Interrupted);
    };
    Page::of(&store, &[id])?.with(&ran).show_as(&wanted)?;
    if wanted.iter().any(Output::is_for_people) {
        output::print(&format!("kept as run {id} in {path}\n"))?;
    }
    let exit = fail_if::exit(&args.checks, result);
    let has_gaps = !args.accept_gaps && ran.reports.iter().any(ProbeReport::is_disturbed);
    Ok(if has_gaps && exit == Exit::Done { Exit::Disturbed } else { exit })
}

/// Measures, and keeps what is finished.
pub fn perform(
    args: &RunArgs,
    experiment: &Experiment,
    machine: &Machine,
    store: &mut Store,
    stop: &AtomicBool,
    progress: &mut Progress,
) -> Result<Ran, Failure> {
    match &experiment.subject {
        Subject::Hardware { .. } => {
            run_hardware::run(args, experiment, machine, store, stop, progress)
        }
        Subject::Database(comparison) => {
            let prepared = Prepared::new(experiment, comparison, machine, &args.experiment)?;
            run_database::run(args, &prepared, store, stop, progress)
        }
    }
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
    reason: &hopcost_core::Reason,
    emulated: bool,
) -> ExperimentResult {
    ResultOf::of(experiment, target, emulated).without_figure(Verdict::NotApplicable, reason)
}

fn wanted(args: &RunArgs) -> Vec<Output> {
    let mut wanted = Output::of(&args.format.format, args.experiment.json);
    if !wanted.iter().any(Output::is_printed) {
        wanted.push(Output::printed(&format::TERMINAL));
    }
    wanted
}

/// The exit code that a verdict means.
pub fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Refused => Exit::Failed,
        Verdict::NotApplicable => Exit::NotHere,
        Verdict::Disturbed => Exit::Disturbed,
        _ => Exit::Done,
    }
}
