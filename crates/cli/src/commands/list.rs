//! `hopcost list`: what can be run, on what, and what of it applies here; with `--all`, which settings each database
//! accepts.

use std::fmt::Write as _;

use hopcost_app::catalogue;
use hopcost_core::{Effort, Experiment, Machine, Site, Subject, Words, Workload};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_engines::TARGETS;
use hopcost_host::observers::OBSERVERS;
use hopcost_host::probes::PROBES;
use hopcost_method::hardware;
use hopcost_sys::{Root, topology};
use hopcost_view::plural;
use serde::Serialize;

use super::capabilities::Matrix;
use super::comparison::Prepared;
use super::{experiment, run_hardware};
use crate::args::ExperimentArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Something with a name, and what it is.
#[derive(Serialize)]
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
}

impl Entry {
    fn of((name, about): (&'static str, &'static str)) -> Self {
        Self { name, about }
    }
}

/// An experiment, and how many parts of it are measured here, and are not.
#[derive(Serialize)]
struct Listed {
    name: String,
    question: String,
    #[serde(flatten)]
    words: Words,
    parts: usize,
    left_out: usize,
}

#[derive(Serialize)]
struct Printed {
    version: u32,
    experiments: Vec<Listed>,
    targets: Vec<Entry>,
    workloads: Vec<Entry>,
    observers: Vec<Entry>,
    probes: Vec<Entry>,
    data_sets: Vec<Entry>,
    #[serde(flatten)]
    matrix: Option<Matrix>,
}

/// With the table of engines and settings, or without it.
pub fn run(all: bool, as_json: bool) -> Result<Exit, Failure> {
    let machine = topology::read(&Root::live());
    let site = experiment::site(&machine, Effort::Normal, 1)?;
    let of_experiment = |experiment: &Experiment| listed(experiment, &site, &machine);
    let info = |workload: &&dyn Workload| Entry::of((workload.info().name, workload.info().about));
    let printed = Printed {
        version: 1,
        experiments: catalogue::experiments()?
            .iter()
            .map(of_experiment)
            .collect::<Result<_, _>>()?,
        targets: TARGETS.iter().map(|it| Entry::of((it.name(), it.about()))).collect(),
        workloads: WORKLOADS.iter().map(info).collect(),
        observers: OBSERVERS.iter().map(|it| Entry::of((it.name(), it.about()))).collect(),
        probes: PROBES.iter().map(|it| Entry::of((it.name(), it.question()))).collect(),
        data_sets: DATASETS.iter().map(|it| Entry::of((it.name(), it.about()))).collect(),
        matrix: all.then(Matrix::new),
    };
    if as_json {
        output::print_json(&printed)?;
    } else {
        output::print(&text(&printed))?;
    }
    Ok(Exit::Done)
}

fn text(printed: &Printed) -> String {
    let mut out = String::from("experiments\n");
    for experiment in &printed.experiments {
        line(&mut out, &experiment.name, &experiment.question);
        line(&mut out, "", &so_much_applies(experiment.parts, experiment.left_out));
    }
    for (heading, entries) in [
        ("targets", &printed.targets),
        ("workloads", &printed.workloads),
        ("observers", &printed.observers),
        ("probes", &printed.probes),
        ("data sets", &printed.data_sets),
    ] {
        let _ = writeln!(out, "\n{heading}");
        for Entry { name, about } in entries {
            line(&mut out, name, about);
        }
    }
    if let Some(matrix) = &printed.matrix {
        let _ = write!(out, "\n{}", matrix.text());
    }
    out
}

/// Room for the longest name; a longer one is followed by its text all the same.
const NAME_WIDTH: usize = 20;

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<NAME_WIDTH$} {text}");
}

/// How much of it applies on this machine.
fn listed(experiment: &Experiment, site: &Site<'_>, machine: &Machine) -> Result<Listed, Failure> {
    let (parts, left_out) = match &experiment.subject {
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
    let (name, question) = (experiment.name.clone(), experiment.question.clone());
    Ok(Listed { name, question, words: experiment.words.clone(), parts, left_out })
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
