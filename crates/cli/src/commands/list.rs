//! `hopcost list`: what can be run, on what, and what of it applies here.

use std::fmt::Write as _;

use hopcost_core::{Effort, Experiment, Site};
use hopcost_engine::hardware;
use hopcost_kit::datasets::DATASETS;
use hopcost_kit::probes::PROBES;
use hopcost_sys::{Root, topology};

use super::{experiment, run};
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run() -> Result<Exit, Failure> {
    let machine = topology::read(&Root::live());
    let site = experiment::site(&machine, Effort::Normal, 1)?;
    let mut out = String::from("experiments\n");
    for experiment in experiment::all()? {
        line(&mut out, &experiment.name, &experiment.question);
        line(&mut out, "", &applies(&experiment, &site));
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

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<14}{text}");
}

/// Does it apply on this machine, and what of it does not?
fn applies(experiment: &Experiment, site: &Site<'_>) -> String {
    let steps = hardware::plan(run::probes(experiment), site);
    let cells: usize = steps.iter().map(|step| step.cells).sum();
    let left_out: usize =
        steps.iter().flat_map(|step| &step.left_out).map(|(_, times)| times).sum();
    match (cells, left_out) {
        (0, _) => "does not apply here: 'hopcost plan' says why".to_owned(),
        (_, 0) => "applies here".to_owned(),
        (_, n) => format!("applies here, without {n} cells: 'hopcost plan' says why"),
    }
}
