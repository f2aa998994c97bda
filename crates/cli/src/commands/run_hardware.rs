//! `hopcost run` of an experiment on the hardware alone: its probes, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_core::{Experiment, Machine, Probe, ProbeError, Subject};
use hopcost_engine::{Timing, hardware, run_probe};
use hopcost_store::Store;

use super::experiment;
use super::run::{self, Ran};
use crate::args::RunArgs;
use crate::exit::Failure;
use crate::output;
use crate::progress::Progress;

pub fn run(
    args: &RunArgs,
    experiment: &Experiment,
    machine: &Machine,
    store: &Store,
    stop: &AtomicBool,
    progress: &mut Progress,
) -> Result<Ran, Failure> {
    let asked = &args.experiment;
    experiment::refuse_options_of_a_comparison(asked)?;
    let site = experiment::site(machine, asked.effort(), asked.seed)?;
    let id = run::begin(store, experiment, machine, (asked.effort(), asked.seed), (None, None))?;
    let mut reports = Vec::new();
    for probe in probes(experiment) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let timing = Timing::of(site.effort);
        let report = match run_probe(probe, &site, timing, stop, progress) {
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
    if stop.load(Ordering::Relaxed) {
        return Ok(Ran { id, result: None, reports });
    }
    let result = hardware::conclude(experiment, &reports);
    store.finish(id, &result)?;
    Ok(Ran { id, result: Some(result), reports })
}

/// The probes that an experiment on the hardware asks for.
pub fn probes(experiment: &Experiment) -> Vec<&'static dyn Probe> {
    let Subject::Hardware { probes } = &experiment.subject else { return Vec::new() };
    probes.iter().filter_map(|name| experiment::probe(name)).collect()
}
