//! `hopcost run`: from an experiment to a verdict, with everything kept in the store.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use hopcost_app::catalogue;
use hopcost_core::{
    Effort, Experiment, ExperimentResult, Known, Machine, ProbeReport, Subject, Verdict,
};
use hopcost_data::published;
use hopcost_store::{NewRun, Store, StoreError};
use hopcost_view::text;
use serde::Serialize;

use super::comparison::Prepared;
use super::host::Host;
use super::{baseline, fail_if, run_database, run_hardware};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::safety::{self, Leave};
use crate::{interrupt, output};

/// What `run --json` and `report --json` print.
#[derive(Serialize)]
pub struct Printed<'a> {
    /// The run's number in the store.
    pub run: i64,
    #[serde(flatten)]
    pub result: &'a ExperimentResult,
    pub probes: &'a [ProbeReport],
}

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
    show(id, result, &ran.reports, args.experiment.json)?;
    if !args.experiment.json {
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
    ExperimentResult {
        version: 1,
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        target,
        verdict: Verdict::NotApplicable,
        reason: reason.clone(),
        estimate: Known::Missing(reason.clone()),
        proof: Vec::new(),
        emulated,
        planted: None,
        details: None,
        against: None,
        seconds: 0.0,
    }
}

/// Prints an outcome and the reports that it rests on.
pub fn show(
    run: i64,
    result: &ExperimentResult,
    reports: &[ProbeReport],
    json: bool,
) -> Result<(), Failure> {
    if json {
        return output::print_json(&Printed { run, result, probes: reports });
    }
    let columns = output::columns();
    let mut out = text::result(result, columns);
    if let Some(details) = &result.details {
        out.push_str(&text::details(details, columns));
    }
    out.push_str(&text::published(&published::beside(&result.experiment), columns));
    for report in reports {
        out.push_str(&text::probe_report(report, columns));
        out.push_str(&text::published(&published::beside(&report.probe), columns));
        out.push('\n');
    }
    output::print(&out)
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
