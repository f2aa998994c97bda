//! `hopcost plan`: what a run would do, without doing it.

use hopcost_core::Experiment;
use hopcost_engine::hardware;
use hopcost_sys::{Root, topology};
use hopcost_view::text;
use serde::Serialize;

use super::{experiment, run};
use crate::args::ExperimentArgs;
use crate::exit::{Exit, Failure};
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    experiment: &'a Experiment,
    steps: &'a [hardware::Step],
}

pub fn run(args: &ExperimentArgs) -> Result<Exit, Failure> {
    let experiment = experiment::named(&args.name)?;
    let machine = topology::read(&Root::live());
    let site = experiment::site(&machine, args.effort(), args.seed)?;
    let steps = hardware::plan(run::probes(&experiment), &site);
    if args.json {
        let printed = Printed { version: 1, experiment: &experiment, steps: &steps };
        output::print_json(&printed)?;
    } else {
        let steps: Vec<text::PlannedStep<'_>> = steps
            .iter()
            .map(|step| text::PlannedStep {
                name: step.probe,
                cells: step.cells,
                left_out: &step.left_out,
                seconds: step.seconds,
                memory: &step.memory,
            })
            .collect();
        output::print(&text::plan(&experiment, &steps, output::columns()))?;
    }
    Ok(if steps.iter().any(|step| step.cells > 0) { Exit::Done } else { Exit::NotHere })
}
