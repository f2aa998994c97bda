//! Runs a hardware experiment: its probes, which take turns.

use hopcost_core::{Experiment, Machine, Probe, ProbeError, Site, Subject};
use hopcost_method::hardware;
use hopcost_method::hardware::Timing;
use hopcost_method::run::{HardwareCircumstances, HardwareIdentity, HardwarePreparation};
use hopcost_store::Store;

use super::host::Host;
use super::ran::{Ran, begin};
use crate::figures::{self, Occasions};
use crate::{Control, Outcome, Request, catalogue, site};

pub fn run(
    asked: &Request,
    experiment: &Experiment,
    machine: &Machine,
    store: &Store,
    control: &mut Control<'_>,
) -> Outcome<Ran> {
    site::refuse_options_of_a_comparison(asked)?;
    let (seen, planted) = site::for_probes(asked, machine)?;
    let site = Site { planted, ..site::site(&seen, asked.effort, asked.seed)? };
    let wanted = (asked.effort, asked.seed);
    let identity = planted
        .map(|planted| HardwareIdentity { seed: asked.seed, emulation: planted.emulation }.key());
    let host = Host::read(machine);
    let id = begin(store, experiment, machine, &host, wanted, (None, identity.as_deref()))?;
    if planted.is_some() {
        store.prepare(
            id,
            &HardwarePreparation { circumstances: HardwareCircumstances { emulated: true } },
        )?;
    }
    let probes = probes(experiment);
    let timing = Timing::shared(site.effort, asked.budget_s, probes.len());
    let starts = hardware::starts(asked.starts, asked.effort, timing.budget);
    let occasions = Occasions::of(store, &host, asked.effort)?;
    let mut reports = Vec::new();
    for (probe, found) in figures::measure(&probes, &site, timing, starts, &occasions, control) {
        match found {
            Ok(report) => {
                store.add_report(id, &report)?;
                reports.push(report);
            }
            Err(ProbeError::NotHere(reason)) => {
                control.remark(&format!("{} cannot run here: {reason}", probe.name()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if control.is_stopped() {
        return Ok(Ran { reports, ..Ran::interrupted(id) });
    }
    let result = hardware::conclude(experiment, &reports, planted.is_some());
    store.finish(id, &result)?;
    Ok(Ran { result: Some(result), reports, ..Ran::interrupted(id) })
}

pub fn probes(experiment: &Experiment) -> Vec<&'static dyn Probe> {
    let Subject::Hardware { probes } = &experiment.subject else { return Vec::new() };
    probes.iter().filter_map(|name| catalogue::probe(name)).collect()
}
