//! `hopcost run` of an experiment on the hardware alone: its probes, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_app::catalogue;
use hopcost_core::{Experiment, Machine, Probe, ProbeError, Site, Subject};
use hopcost_drive::run_probe;
use hopcost_method::hardware;
use hopcost_method::hardware::Timing;
use hopcost_method::run::{HardwareCircumstances, HardwareIdentity, HardwarePreparation};
use hopcost_store::Store;

use super::experiment;
use super::host::Host;
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
    let (seen, planted) = experiment::for_probes(asked, machine)?;
    let site = Site { planted, ..experiment::site(&seen, asked.effort(), asked.seed)? };
    let wanted = (asked.effort(), asked.seed);
    let identity = planted
        .map(|planted| HardwareIdentity { seed: asked.seed, emulation: planted.emulation }.key());
    let host = Host::read(machine);
    let id = run::begin(store, experiment, machine, &host, wanted, (None, identity.as_deref()))?;
    if planted.is_some() {
        store.prepare(
            id,
            &HardwarePreparation { circumstances: HardwareCircumstances { emulated: true } },
        )?;
    }
    let mut reports = Vec::new();
    let probes = probes(experiment);
    let timing = Timing::shared(site.effort, asked.budget, probes.len());
    for probe in probes {
        if stop.load(Ordering::Relaxed) {
            break;
        }
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
    let result = hardware::conclude(experiment, &reports, planted.is_some());
    store.finish(id, &result)?;
    Ok(Ran { id, result: Some(result), reports })
}

/// The probes that an experiment on the hardware asks for.
pub fn probes(experiment: &Experiment) -> Vec<&'static dyn Probe> {
    let Subject::Hardware { probes } = &experiment.subject else { return Vec::new() };
    probes.iter().filter_map(|name| catalogue::probe(name)).collect()
}
