//! `hopcost plan`: what a run would do, without doing it.

use hopcost_app::catalogue;
use hopcost_core::{
    Audit, Comparison, CpuSet, Experiment, Machine, NodeId, Parallel, Policy, Site, Subject,
    Workload,
};
use hopcost_method::hardware;
use hopcost_method::pace::budget_s;
use hopcost_method::plan::{Placement, Plan};
use hopcost_sys::{Root, topology};
use hopcost_view::text;
use serde::Serialize;

use super::comparison::Prepared;
use super::{experiment, off_line, run_hardware, statements};
use crate::args::{ExperimentArgs, PlanArgs};
use crate::exit::{Exit, Failure};
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    experiment: &'a Experiment,
    emulated: bool,
    steps: &'a [hardware::Step],
}

#[derive(Serialize)]
struct PrintedComparison<'a> {
    version: u32,
    experiment: &'a Experiment,
    emulated: bool,
    target: String,
    rows: u64,
    plan: &'a Plan,
    seconds: f64,
    memory_bytes: u64,
    disk_bytes: u64,
}

pub fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let PlanArgs { experiment: args, sql } = args;
    if *sql {
        return statements::list(args);
    }
    let experiment = catalogue::experiment(&args.name)?;
    let machine = topology::read(&Root::live());
    match &experiment.subject {
        Subject::Hardware { .. } => hardware(args, &experiment, &machine),
        Subject::Database(comparison) => database(args, &experiment, comparison, &machine),
    }
}

fn hardware(
    args: &ExperimentArgs,
    experiment: &Experiment,
    machine: &Machine,
) -> Result<Exit, Failure> {
    experiment::refuse_options_of_a_comparison(args)?;
    let (seen, planted) = experiment::for_probes(args, machine)?;
    let emulated = planted.is_some();
    let site = Site { planted, ..experiment::site(&seen, args.effort(), args.seed)? };
    let steps = hardware::plan(&run_hardware::probes(experiment), &site, args.budget);
    if args.json {
        output::print_json(&Printed { version: 1, experiment, emulated, steps: &steps })?;
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
        output::print(&text::plan(experiment, emulated, &steps, output::columns()))?;
    }
    Ok(if steps.iter().any(|step| step.cells > 0) { Exit::Done } else { Exit::NotHere })
}

fn database(
    args: &ExperimentArgs,
    experiment: &Experiment,
    comparison: &Comparison,
    machine: &Machine,
) -> Result<Exit, Failure> {
    let prepared = Prepared::new(experiment, comparison, machine, args)?;
    let plan = prepared.plan().map_err(|reason| {
        Failure::not_here(
            reason.code(),
            format!("{} does not apply here: {reason}", experiment.name),
        )
    })?;
    off_line::wanted(&prepared, &plan)?;
    let (memory_bytes, disk_bytes) = prepared.takes(&plan);
    let seconds = budget_s(&prepared.wishes);
    if args.json {
        output::print_json(&PrintedComparison {
            version: 1,
            experiment,
            emulated: prepared.emulation.is_some(),
            target: prepared.url(),
            rows: prepared.shape.rows,
            plan: &plan,
            seconds,
            memory_bytes,
            disk_bytes,
        })?;
        return Ok(Exit::Done);
    }
    let planned = text::PlannedComparison {
        experiment,
        emulated: prepared.emulation.is_some(),
        target: prepared.target.about(),
        data: data(&prepared),
        arms: arms(&plan, prepared.allow_machine_changes),
        points: points(&plan),
        order: order(&prepared, &plan),
        seconds,
        memory_bytes,
        disk_bytes,
        left_out: plan
            .left_out
            .iter()
            .map(|left_out| format!("{}: {}", left_out.what, left_out.reason))
            .collect(),
        changes: if args.allow_machine_changes {
            "CPUs go off-line in windows of their level, and come back"
        } else {
            "nothing on the machine is changed"
        },
    };
    output::print(&text::comparison(&planned, output::columns()))?;
    Ok(Exit::Done)
}

/// What is asked of which data.
fn data(prepared: &Prepared<'_>) -> String {
    let (shape, workload) = (prepared.shape, &prepared.comparison.workload);
    if prepared.baseline().info().tables.is_empty() {
        return format!("none, {workload}");
    }
    let how = match (prepared.baseline().spec(shape).calls_per_query, shape.sliced) {
        (1, true) => "",
        (_, true) => " slice by slice",
        (_, false) => " whole queries",
    };
    let (dataset, unit) = (prepared.dataset.name(), prepared.dataset.unit(shape.rows));
    format!("{dataset} with {} {unit}, {workload}{how}", shape.rows)
}

/// Each level, with where it stands in each binding.
fn arms(plan: &Plan, off_line: bool) -> Vec<(String, Vec<String>)> {
    let place = |placement: &Placement| {
        let cpus: Vec<String> =
            placement.settings.workers.iter().map(ToString::to_string).collect();
        let data = data_of(placement);
        let at = |what: &str, cpus: &Option<CpuSet>| {
            cpus.as_ref().map_or(String::new(), |cpus| format!(", {what} on CPU {cpus}"))
        };
        let off_line = off_line && !placement.spare.is_empty();
        let spare =
            if off_line { format!(", CPU {} off-line", placement.spare) } else { String::new() };
        let log_writer = at("log writer", &placement.settings.log_writer);
        let client = at("client", &placement.client);
        let parallel = parallel(placement.settings.parallel);
        let audit = audit(placement.settings.session.audit);
        let others = format!("{spare}{log_writer}{client}{parallel}{audit}");
        format!("{data}workers on CPU {}{others}", cpus.join(","))
    };
    let of_level = |(level, name): (usize, &String)| {
        let places = plan.placements.iter().map(|levels| place(&levels[level])).collect();
        (name.clone(), places)
    };
    plan.levels.iter().enumerate().map(of_level).collect()
}

/// What is written down.
fn audit(audit: Option<Audit>) -> &'static str {
    match audit {
        None => "",
        Some(Audit::Off) => ", nothing written down",
        Some(Audit::Statements) => ", statements written down",
        Some(Audit::Trace) => ", statements traced",
    }
}

/// Who else works on a query.
fn parallel(parallel: Option<Parallel>) -> String {
    let Some(Parallel { dop, postmaster, workers }) = parallel else { return String::new() };
    let on = |what: &str, node: Option<NodeId>| {
        node.map_or(String::new(), |node| format!(", {what} on node {node}"))
    };
    let processes = if dop == 1 { "process" } else { "processes" };
    let (postmaster, workers) = (on("postmaster", postmaster), on("parallel workers", workers));
    format!(", {dop} {processes} on a query{postmaster}{workers}")
}

/// Where its data is, by whose decision.
fn data_of(placement: &Placement) -> String {
    let node = placement.settings.home.map(|node| format!("on node {node}"));
    let how = match placement.settings.copy.policy {
        None => None,
        Some(Policy::FirstTouch) => Some("by first touch".to_owned()),
        Some(Policy::Bind) => Some("bound".to_owned()),
        Some(Policy::Interleave) => Some("interleaved over all nodes".to_owned()),
        Some(Policy::PerNode) => Some("on each node, for the streams there".to_owned()),
    };
    let which = placement.settings.copy.instance.map(|number| format!("of instance {number}"));
    let pages = placement.settings.copy.pages.map(|pages| format!("on {pages}"));
    let words: Vec<String> = [which, node, how, pages].into_iter().flatten().collect();
    if words.is_empty() { String::new() } else { format!("data {}, ", words.join(" ")) }
}

fn points(plan: &Plan) -> Vec<String> {
    let named = plan.points.iter().map(|point| {
        format!("{} with {} at {}", plan.levels[point.level], plan.levels[0], point.streams)
    });
    named.collect()
}

fn order(prepared: &Prepared<'_>, plan: &Plan) -> String {
    let search = prepared.comparison.find_worst && plan.points.len() > 1;
    let search = if search {
        "a search for the worst point in units shuffled from the seed; then fresh "
    } else {
        ""
    };
    format!(
        "{search}units of {} (A B B A or B A A B by a coin of the seed), one per way of binding, until \
         the interval is narrow enough; a block of the baseline against itself after every fourth",
        hopcost_view::plural(plan.bindings.len(), "block")
    )
}
