//! `hopcost list`: what can be run, on what, and what of it applies here.

use std::fmt::Write as _;

use hopcost_app::catalogue;
use hopcost_core::{Effort, Experiment, Machine, Site, Subject};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_engines::TARGETS;
use hopcost_host::observers::OBSERVERS;
use hopcost_host::probes::PROBES;
use hopcost_method::hardware;
use hopcost_sys::{Root, topology};
use hopcost_view::plural;

use super::comparison::Prepared;
use super::{experiment, run_hardware};
use crate::args::ExperimentArgs;
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run() -> Result<Exit, Failure> {
    let machine = topology::read(&Root::live());
    let site = experiment::site(&machine, Effort::Normal, 1)?;
    let mut out = String::from("experiments\n");
    for experiment in catalogue::experiments()? {
        line(&mut out, &experiment.name, &experiment.question);
        line(&mut out, "", &applies(&experiment, &site, &machine)?);
    }
    out.push_str("\ntargets\n");
    for target in TARGETS {
        line(&mut out, target.name(), target.about());
    }
    out.push_str("\nworkloads\n");
    for workload in WORKLOADS {
        line(&mut out, workload.info().name, workload.info().about);
    }
    out.push_str("\nobservers\n");
    for observer in OBSERVERS {
        line(&mut out, observer.name(), observer.about());
    }
    out.push_str("\nprobes\n");
    for probe in PROBES {
        line(&mut out, probe.name(), probe.question());
    }
    out.push_str("\ndata sets\n");
    for dataset in DATASETS {
        line(&mut out, dataset.name(), dataset.about());
    }
    output::print(&out)?;
    Ok(Exit::Done)
}

/// Room for the longest name; a longer one is followed by its text all the same.
const NAME_WIDTH: usize = 20;

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<NAME_WIDTH$} {text}");
}

/// Does it apply on this machine, and what of it does not?
fn applies(experiment: &Experiment, site: &Site<'_>, machine: &Machine) -> Result<String, Failure> {
    let (measured, left_out) = match &experiment.subject {
        Subject::Hardware { .. } => {
            let steps = hardware::plan(&run_hardware::probes(experiment), site, None);
            let left_out = steps.iter().flat_map(|step| &step.left_out).map(|(_, times)| times);
            (steps.iter().map(|step| step.cells).sum(), left_out.sum())
        }
        Subject::Database(comparison) => {
            let asked = ExperimentArgs::of(&experiment.name);
            let prepared = Prepared::new(experiment, comparison, machine, &asked)?;
            match prepared.plan() {
                Ok(plan) => (plan.points.len(), plan.left_out.len()),
                Err(_) => (0, 0),
            }
        }
    };
    Ok(so_much_applies(measured, left_out))
}

fn so_much_applies(measured: usize, left_out: usize) -> String {
    match (measured, left_out) {
        (0, _) => "does not apply here: 'hopcost plan' says why".to_owned(),
        (_, 0) => "applies here".to_owned(),
        (_, n) => {
            format!("applies here, without {}: 'hopcost plan' says why", plural(n, "part"))
        }
    }
}

#[cfg(test)]
mod tests {
    use hopcost_data::experiments::EXPERIMENTS;

    use super::*;

    #[test]
    fn each_name_has_room_beside_its_text() {
        for (name, _) in EXPERIMENTS {
            let mut out = String::new();
            line(&mut out, name, "What?");
            assert_eq!(out, format!("  {name:<20} What?\n"));
        }
        let mut out = String::new();
        line(&mut out, &"x".repeat(30), "What?");
        assert!(out.ends_with("x What?\n"), "{out}");
    }

    #[test]
    fn one_part_is_no_parts() {
        assert!(so_much_applies(3, 1).contains("without 1 part:"), "{}", so_much_applies(3, 1));
        assert!(so_much_applies(3, 2).contains("without 2 parts:"));
    }
}
