//! What the commands on experiments share: finding one by name or file, and where it may run.

use std::path::Path;

use anyhow::Context;
use hopcost_core::{Code, Effort, Emulation, Experiment, Machine, Planted, Probe, Site};
use hopcost_engine::{Vocabulary, emulation, read_experiment};
use hopcost_kit::datasets::DATASETS;
use hopcost_kit::experiments::EXPERIMENTS;
use hopcost_kit::probes::PROBES;
use hopcost_kit::published;
use hopcost_kit::targets::TARGETS;
use hopcost_kit::workloads::WORKLOADS;
use hopcost_sys::memory;

use crate::args::ExperimentArgs;
use crate::exit::Failure;

/// The experiment of this name, or the one in the file of this name.
pub fn named(name: &str) -> Result<Experiment, Failure> {
    if let Some((name, text)) = EXPERIMENTS.iter().find(|(known, _)| *known == name) {
        return read(name, name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(
            Code::UnknownName,
            format!(
                "there is no experiment '{name}'; known: {} (or name a .toml file)",
                known.join(", ")
            ),
        ));
    }
    let text = std::fs::read_to_string(path).with_context(|| name.to_owned())?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    read(&stem, name, &text)
}

/// All that come with hopcost.
pub fn all() -> Result<Vec<Experiment>, Failure> {
    EXPERIMENTS.iter().map(|(name, text)| read(name, name, text)).collect()
}

fn read(name: &str, place: &str, text: &str) -> Result<Experiment, Failure> {
    let probes: Vec<&str> = PROBES.iter().map(|probe| probe.name()).collect();
    let datasets: Vec<&str> = DATASETS.iter().map(|dataset| dataset.name()).collect();
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name()).collect();
    let workloads: Vec<&str> = WORKLOADS.iter().map(|workload| workload.info().name).collect();
    let published: Vec<&str> = published::names().collect();
    let known = Vocabulary {
        targets: &targets,
        datasets: &datasets,
        workloads: &workloads,
        probes: &probes,
        published: &published,
    };
    read_experiment(name, text, &known)
        .map_err(|error| Failure::usage(Code::BadFile, format!("{place}:{error}")))
}

/// An experiment on the hardware has no use for what changes a comparison: better said than ignored.
pub fn refuse_options_of_a_comparison(args: &ExperimentArgs) -> Result<(), Failure> {
    let option = args.of_a_comparison();
    option.map_or(Ok(()), |option| {
        Err(Failure::usage(
            Code::BadOption,
            format!(
                "{option}: '{}' looks at the hardware alone, without a database; leave it out",
                args.name
            ),
        ))
    })
}

/// What is asked to be emulated, and the machine as it then seems.
pub fn emulated(
    args: &ExperimentArgs,
    ground: &Machine,
) -> Result<(Machine, Option<Emulation>), Failure> {
    let Some(text) = &args.emulate else { return Ok((ground.clone(), None)) };
    let emulation = emulation::read(text)
        .map_err(|wrong| Failure::usage(Code::BadValue, format!("--emulate: {wrong}")))?;
    let machine = ground
        .emulated(&emulation)
        .map_err(|reason| Failure::not_here(reason.code(), format!("--emulate: {reason}")))?;
    Ok((machine, Some(emulation)))
}

/// The same for probes, in which only less bandwidth can be planted.
pub fn for_probes<'a>(
    args: &ExperimentArgs,
    ground: &'a Machine,
) -> Result<(Machine, Option<Planted<'a>>), Failure> {
    let (machine, emulation) = emulated(args, ground)?;
    if emulation.as_ref().is_some_and(Emulation::is_of_calls) {
        return Err(Failure::usage(
            Code::BadOption,
            format!(
                "--emulate: '{}' has no database whose calls could be made longer; probes know nodes and \
             bandwidth=nodeN:SHARE",
                args.name
            ),
        ));
    }
    Ok((machine, emulation.map(|emulation| Planted { ground, emulation })))
}

/// The probe of this name.
pub fn probe(name: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|probe| probe.name() == name)
}

/// The whole of this machine that we may use.
pub fn site(machine: &Machine, effort: Effort, seed: u64) -> Result<Site<'_>, Failure> {
    Ok(Site {
        machine,
        planted: None,
        effort,
        cpus: machine.limits.cpus.clone(),
        nodes: machine.nodes_by_default(),
        size_bytes: None,
        stride_bytes: None,
        pages: None,
        may_bind: !memory::forbidden_calls()?.contains(&"mbind"),
        log_dir: ".".into(),
        seed,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_can_be_read_and_has_its_own_place_in_a_survey() {
        let all = all().unwrap_or_else(|failure| panic!("{failure}"));
        let places: Vec<u32> = all.iter().filter_map(|experiment| experiment.survey).collect();
        assert!(places.len() > 2);
        assert_eq!(places.len(), places.iter().collect::<BTreeSet<_>>().len(), "{places:?}");
    }
}
