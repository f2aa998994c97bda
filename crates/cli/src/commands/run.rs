//! `hopcost run`: from an experiment to a verdict, with everything kept in the store.

use std::sync::atomic::Ordering;

use anyhow::Context;
use hopcost_core::{
    Experiment, ExperimentResult, Probe, ProbeError, ProbeReport, Subject, Verdict,
};
use hopcost_engine::{Timing, hardware, run_probe};
use hopcost_kit::published;
use hopcost_store::{NewRun, Store};
use hopcost_sys::{Root, clock, topology};
use hopcost_view::text;
use serde::Serialize;

use super::experiment;
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
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

pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let RunArgs { experiment: asked, store: path } = args;
    let experiment = experiment::named(&asked.name)?;
    let machine = topology::read(&Root::live());
    let site = experiment::site(&machine, asked.effort(), asked.seed)?;
    let store = Store::open(path).with_context(|| path.display().to_string())?;
    let run = store.begin(&NewRun {
        experiment: &experiment.name,
        question: &experiment.question,
        target: None,
        effort: asked.effort(),
        seed: asked.seed,
        machine: &machine,
        begun_s: clock::unix_seconds().cast_signed(),
    })?;
    let stop = interrupt::watch()?;
    let mut reports = Vec::new();
    for probe in probes(&experiment) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let timing = Timing::of(site.effort);
        let report = match run_probe(probe, &site, timing, &stop, &mut Progress::new()) {
            Ok(report) => report,
            Err(ProbeError::NotHere(reason)) => {
                output::remark(&format!("{} cannot run here: {reason}", probe.name()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        store.add_report(run, &report)?;
        reports.push(report);
    }
    if stop.load(Ordering::Relaxed) {
        let path = path.display();
        output::remark(&format!("interrupted; what was finished is kept as run {run} in {path}"));
        return Ok(Exit::Interrupted);
    }
    let result = hardware::conclude(&experiment, &reports);
    store.finish(run, &result)?;
    show(run, &result, &reports, asked.json)?;
    if !asked.json {
        output::print(&format!("kept as run {run} in {}\n", path.display()))?;
    }
    Ok(exit(result.verdict))
}

/// The probes that an experiment on the hardware asks for.
pub fn probes(experiment: &Experiment) -> Vec<&'static dyn Probe> {
    let Subject::Hardware { probes } = &experiment.subject else { return Vec::new() };
    probes.iter().filter_map(|name| experiment::probe(name)).collect()
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
        _ => Exit::Done,
    }
}
