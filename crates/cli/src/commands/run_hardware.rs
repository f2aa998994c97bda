//! `hopcost run` of an experiment on the hardware alone: its probes, one after the other.

use std::sync::atomic::Ordering;

use hopcost_core::{Experiment, Machine, Probe, ProbeError, Subject};
use hopcost_engine::{Timing, hardware, run_probe};
use hopcost_store::Store;

use super::{experiment, run};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::{interrupt, output};

pub fn run(
    args: &RunArgs,
    experiment: &Experiment,
    machine: &Machine,
    store: &Store,
) -> Result<Exit, Failure> {
    let asked = &args.experiment;
    experiment::refuse_options_of_a_comparison(asked)?;
    let site = experiment::site(machine, asked.effort(), asked.seed)?;
    let id = run::begin(store, experiment, machine, (asked.effort(), asked.seed), (None, None))?;
    let stop = interrupt::watch()?;
    let mut reports = Vec::new();
    for probe in probes(experiment) {
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
        store.add_report(id, &report)?;
        reports.push(report);
    }
    let path = store.path().display();
    if stop.load(Ordering::Relaxed) {
        output::remark(&format!("interrupted; what was finished is kept as run {id} in {path}"));
        return Ok(Exit::Interrupted);
    }
    let result = hardware::conclude(experiment, &reports);
    store.finish(id, &result)?;
    run::show(id, &result, &reports, asked.json)?;
    if !asked.json {
        output::print(&format!("kept as run {id} in {path}\n"))?;
    }
    Ok(run::exit(result.verdict))
}

/// The probes that an experiment on the hardware asks for.
pub fn probes(experiment: &Experiment) -> Vec<&'static dyn Probe> {
    let Subject::Hardware { probes } = &experiment.subject else { return Vec::new() };
    probes.iter().filter_map(|name| experiment::probe(name)).collect()
}
