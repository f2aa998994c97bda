//! `hopcost plan`: what a run would do.

use hopcost_app::{App, Outcome, Planned, PlannedComparison, PlannedProbes, machine};
use hopcost_core::{Audit, CpuSet, Experiment, NodeId, Parallel, Policy};
use hopcost_method::hardware;
use hopcost_method::plan::{Placement, Plan};
use hopcost_view::text;
use serde::Serialize;

use super::statements;
use crate::args::PlanArgs;
use crate::exit::Exit;
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
    target: &'a str,
    rows: u64,
    plan: &'a Plan,
    seconds: f64,
    memory_bytes: u64,
    disk_bytes: u64,
}

pub fn run(app: &App, args: &PlanArgs) -> Outcome<Exit> {
    let PlanArgs { experiment: args, sql } = args;
    if *sql {
        return statements::list(app, args);
    }
    let prepared = app.prepare(args.request())?;
    let experiment = &prepared.experiment;
    match app.plan(&prepared, &machine())? {
        Planned::Probes(planned) => hardware(experiment, &planned, args.json),
        Planned::Comparison(planned) => database(experiment, &planned, args.json),
    }
}

fn hardware(experiment: &Experiment, planned: &PlannedProbes, json: bool) -> Outcome<Exit> {
    let PlannedProbes { emulated, steps } = planned;
    if json {
        output::print_json(&Printed { version: 1, experiment, emulated: *emulated, steps })?;
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
        output::print(&text::plan(experiment, *emulated, &steps, output::columns()))?;
    }
    Ok(if steps.iter().any(|step| step.cells > 0) { Exit::Done } else { Exit::NotHere })
}

fn database(experiment: &Experiment, planned: &PlannedComparison, json: bool) -> Outcome<Exit> {
    let PlannedComparison { emulated, plan, seconds, memory_bytes, disk_bytes, .. } = planned;
    if json {
        output::print_json(&PrintedComparison {
            version: 1,
            experiment,
            emulated: *emulated,
            target: &planned.target,
            rows: planned.rows,
            plan,
            seconds: *seconds,
            memory_bytes: *memory_bytes,
            disk_bytes: *disk_bytes,
        })?;
        return Ok(Exit::Done);
    }
    let shown = text::PlannedComparison {
        experiment,
        emulated: *emulated,
        target: &target(planned),
        data: data(planned),
        arms: arms(plan, planned.off_line),
        points: points(plan),
        order: order(planned),
        seconds: *seconds,
        memory_bytes: *memory_bytes,
        disk_bytes: *disk_bytes,
        left_out: plan
            .left_out
            .iter()
            .map(|left_out| format!("{}: {}", left_out.what, left_out.reason))
            .collect(),
        changes: if planned.off_line {
            "CPUs go off-line in windows of their variant, and on-line again after each"
        } else {
            "Nothing on the machine is changed"
        },
    };
    output::print(&text::comparison(&shown, output::columns()))?;
    Ok(Exit::Done)
}

fn target(planned: &PlannedComparison) -> String {
    let whose = if planned.target.contains("://") {
        "your server, which 'plan' does not ask. A run works in a schema or database of its own there, and \
         drops it"
    } else if planned.target.contains(":managed") {
        "a server of hopcost's own, started for the run and removed"
    } else {
        planned.about
    };
    format!("{}: {whose}", planned.target)
}

fn data(planned: &PlannedComparison) -> String {
    let PlannedComparison { workload, rows, .. } = planned;
    let Some((dataset, unit)) = planned.dataset else { return format!("none, {workload}") };
    let how = match (planned.calls_per_query, planned.sliced) {
        (1, true) => "",
        (_, true) => " slice by slice",
        (_, false) => " whole queries",
    };
    format!("{dataset} with {rows} {unit}, {workload}{how}")
}

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

fn audit(audit: Option<Audit>) -> &'static str {
    match audit {
        None => "",
        Some(Audit::Off) => ", nothing logged",
        Some(Audit::Statements) => ", statements logged",
        Some(Audit::Trace) => ", statements traced",
    }
}

fn parallel(parallel: Option<Parallel>) -> String {
    let Some(Parallel { dop, postmaster, workers }) = parallel else { return String::new() };
    let on = |what: &str, node: Option<NodeId>| {
        node.map_or(String::new(), |node| format!(", {what} on node {node}"))
    };
    let processes = if dop == 1 { "process" } else { "processes" };
    let (postmaster, workers) = (on("postmaster", postmaster), on("parallel workers", workers));
    format!(", {dop} {processes} per query{postmaster}{workers}")
}

/// The node of its data, and who chose it.
fn data_of(placement: &Placement) -> String {
    let node = placement.settings.home.map(|node| format!("on node {node}"));
    let how = match placement.settings.copy.policy {
        None => None,
        Some(Policy::FirstTouch) => Some("by first touch".to_owned()),
        Some(Policy::Bind) => Some("bound".to_owned()),
        Some(Policy::Interleave) => Some("interleaved over all nodes".to_owned()),
        Some(Policy::PerNode) => Some("on each node, for the clients there".to_owned()),
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

fn order(planned: &PlannedComparison) -> String {
    let plan = &planned.plan;
    let search = planned.find_worst && plan.points.len() > 1;
    let search = if search { "first a search for the worst point, then final " } else { "" };
    format!(
        "{search}block sets of {}, one per node assignment, each ABBA or BAAB as the seed has it, until the \
         interval is narrow enough; after every fourth set an A/A check",
        hopcost_view::plural(plan.bindings.len(), "block")
    )
}
