//! `hopcost probe`: measures the hardware.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hopcost_core::{
    Code, CpuSet, Machine, NodeSet, Outcome, PageSize, Probe, ProbeError, ProbeReport, Published,
    Reason, Site, as_missing,
};
use hopcost_data::published;
use hopcost_drive::run_probe;
use hopcost_host::probes::PROBES;
use hopcost_method::hardware::Timing;
use hopcost_sys::journal::Journal;
use hopcost_sys::{Root, memory, topology};
use hopcost_view::text;
use serde::Serialize;

use crate::args::ProbeArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::{interrupt, output};

/// The JSON of all probes that ran.
#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    machine: &'a Machine,
    probes: Vec<WithPublished>,
    /// Probes that could not run here, with the reason.
    not_run: Vec<NotRun>,
}

#[derive(Serialize)]
struct WithPublished {
    #[serde(flatten)]
    report: ProbeReport,
    published: Vec<&'static Published>,
}

#[derive(Serialize)]
struct NotRun {
    probe: &'static str,
    #[serde(flatten, serialize_with = "as_missing")]
    missing: Reason,
}

pub fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let machine = topology::read(&Root::live());
    let site = site(args, &machine)?;
    let timing = Timing::of(site.effort);
    let budget = args.budget.map_or(timing.budget, Duration::from_secs_f64);
    let timing = Timing { budget, ..timing };
    let stop = interrupt::watch()?;
    let mut journal = Journal::new(&super::state_dir());
    let probes: Vec<&&dyn Probe> = PROBES.iter().filter(|probe| wanted(args, **probe)).collect();
    if args.allow_machine_changes {
        for probe in &probes {
            reserve_huge_pages(**probe, &site, &mut journal)?;
        }
    }
    let mut report =
        Report { version: 1, machine: &machine, probes: Vec::new(), not_run: Vec::new() };
    let mut exit = Exit::Done;
    for probe in probes {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match run_one(*probe, &site, timing, &stop) {
            Ok(found) => {
                if !args.json {
                    show(&found)?;
                }
                report.probes.push(found);
            }
            Err(ProbeError::NotHere(reason)) => {
                if !args.json {
                    output::print(&format!("{:<11}not here: {reason}\n\n", probe.name()))?;
                }
                report.not_run.push(NotRun { probe: probe.name(), missing: reason });
            }
            // The others are not to be lost with this one.
            Err(error) => {
                let failure = Failure::from(error);
                output::complain(&failure);
                let missing = Code::SystemFailed.because(failure.to_string());
                report.not_run.push(NotRun { probe: probe.name(), missing });
                exit = Exit::Failed;
            }
        }
    }
    for restored in journal.restore()? {
        output::remark(&super::restore::describe(&restored));
        exit = if super::restore::is_failed(&restored) { Exit::Failed } else { exit };
    }
    if args.json {
        output::print_json(&report)?;
    }
    Ok(match exit {
        _ if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        Exit::Done => report.exit(args.accept_gaps),
        failed => failed,
    })
}

impl Report<'_> {
    /// Void figures are a failed check, what others have disturbed may go well later, and without any figure this
    /// machine could not do it.
    fn exit(&self, accepts_gaps: bool) -> Exit {
        let mut outcomes =
            self.probes.iter().flat_map(|probe| &probe.report.cells).map(|cell| &cell.outcome);
        if outcomes.clone().any(|outcome| matches!(outcome, Outcome::Void(_))) {
            Exit::Failed
        } else if !accepts_gaps && self.probes.iter().any(|probe| probe.report.is_disturbed()) {
            Exit::Disturbed
        } else if outcomes.any(|outcome| matches!(outcome, Outcome::Measured { .. })) {
            Exit::Done
        } else {
            Exit::NotHere
        }
    }
}

fn run_one(
    probe: &dyn Probe,
    site: &Site<'_>,
    timing: Timing,
    stop: &AtomicBool,
) -> Result<WithPublished, ProbeError> {
    let report =
        run_probe(probe, site, timing, stop, &mut Progress::of(probe.name(), Duration::ZERO))?;
    Ok(WithPublished { report, published: published::beside(probe.name()) })
}

fn show(found: &WithPublished) -> Result<(), Failure> {
    let columns = output::columns();
    let report = text::probe_report(&found.report, columns);
    let beside = text::published(&found.published, columns);
    output::print(&format!("{report}{beside}\n"))
}

fn wanted(args: &ProbeArgs, probe: &dyn Probe) -> bool {
    let is_named = args.names.iter().any(|name| name == probe.name());
    is_named || (args.names.is_empty() && probe.is_for_all())
}

/// Where the probes may work: what is usable, narrowed to what the user named.
fn site<'a>(args: &ProbeArgs, machine: &'a Machine) -> Result<Site<'a>, Failure> {
    Ok(Site {
        machine,
        planted: None,
        effort: args.effort(),
        cpus: chosen_cpus(args.cpus.as_ref(), machine)?,
        nodes: chosen_nodes(args.nodes.as_ref(), machine)?,
        size_bytes: args.size,
        stride_bytes: args.stride,
        pages: args.pages.map(PageSize::from),
        may_bind: !memory::forbidden_calls()?.contains(&"mbind"),
        log_dir: args.log_dir.clone(),
        seed: args.seed,
    })
}

fn chosen_cpus(asked: Option<&CpuSet>, machine: &Machine) -> Result<CpuSet, Failure> {
    let usable = &machine.limits.cpus;
    let Some(asked) = asked else { return Ok(usable.clone()) };
    let absent = asked.difference(usable);
    if absent.is_empty() && !asked.is_empty() {
        return Ok(asked.clone());
    }
    Err(Failure::usage(
        Code::BadValue,
        format!("--cpus {asked}: CPU {absent} cannot be used; {usable} can"),
    ))
}

fn chosen_nodes(asked: Option<&NodeSet>, machine: &Machine) -> Result<NodeSet, Failure> {
    let all: NodeSet = machine.nodes.iter().map(|node| node.id).collect();
    let usable =
        machine.limits.nodes.union(&machine.nodes_with_cpus().map(|node| node.id).collect());
    let Some(asked) = asked else { return Ok(machine.nodes_by_default()) };
    let absent = asked.difference(&all);
    if !absent.is_empty() || asked.is_empty() {
        let message = format!("--nodes {asked}: there is no node {absent}; this machine has {all}");
        return Err(Failure::usage(Code::BadValue, message));
    }
    let forbidden = asked.difference(&usable);
    if !forbidden.is_empty() {
        let message = format!("--nodes {asked}: node {forbidden} is not open to us; {usable} are");
        return Err(Failure::not_here(Code::NotPermitted, message));
    }
    Ok(asked.clone())
}

/// Grows the pools of huge pages to what a probe needs, written down first.
fn reserve_huge_pages(
    probe: &dyn Probe,
    site: &Site<'_>,
    journal: &mut Journal,
) -> Result<(), Failure> {
    let page_bytes: u64 = match site.pages {
        Some(PageSize::Huge2M) => 2 << 20,
        Some(PageSize::Huge1G) => 1 << 30,
        _ => return Ok(()),
    };
    for (node, regions) in probe.memory_needed(site) {
        let wanted: u64 = regions.iter().map(|bytes| bytes.div_ceil(page_bytes)).sum();
        let pool = topology::huge_page_pool(node, page_bytes);
        let missing = wanted.saturating_sub(topology::free_huge_pages(node, page_bytes));
        if missing > 0 {
            let total: u64 = std::fs::read_to_string(&pool)?.trim().parse()?;
            journal.set(&pool, &(total + missing).to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod measured {
    use std::time::Duration;

    use clap::Parser;
    use hopcost_core::Place;
    use hopcost_drive::Silent;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn nodes_that_are_avoided_are_probed_where_they_are_named_and_only_there() {
        let columns = |machine: &str, arguments: &[&str]| -> Vec<u32> {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
            let root = Root::recorded(format!("{dir}/{machine}.tree").as_ref()).unwrap();
            let machine = topology::read(&root);
            let line = ["hopcost", "probe", "latency", "--size", "4M"].iter().chain(arguments);
            let Command::Probe(args) = Cli::parse_from(line).command else { panic!() };
            let site = site(&args, &machine).unwrap();
            let latency = PROBES.iter().find(|probe| probe.name() == "latency").unwrap();
            let cells = latency.cells(&site).into_iter();
            let nodes = cells.filter_map(|cell| match cell.column {
                Place::Node(node) => Some(node.0),
                _ => None,
            });
            nodes.collect::<std::collections::BTreeSet<u32>>().into_iter().collect()
        };
        assert_eq!(columns("hand-gpu-memory", &[]), [0]);
        assert_eq!(columns("hand-gpu-memory", &["--nodes", "0,1"]), [0, 1]);
        assert_eq!(columns("hand-shared-cpus", &[]), [0]);
        assert_eq!(columns("hand-shared-cpus", &["--nodes", "2,5"]), [2, 5]);
    }

    /// The registry: whatever is in it has a name of its own, a question, and works.
    #[test]
    fn every_probe_measures_what_it_says_it_can() {
        let machine = topology::read(&Root::live());
        let dir = tempfile::tempdir().unwrap();
        let log_dir = dir.path().to_str().unwrap();
        let arguments =
            ["hopcost", "probe", "--quick", "--size", "4M", "--pages", "4k", "--log-dir", log_dir];
        let Command::Probe(args) = Cli::parse_from(arguments).command else { panic!() };
        let site = site(&args, &machine).unwrap();
        let timing = Timing { budget: Duration::ZERO, warm_up: Duration::ZERO };
        let mut names = std::collections::BTreeSet::new();
        for probe in PROBES {
            assert!(names.insert(probe.name()), "two probes are called {}", probe.name());
            assert!(probe.question().ends_with('?'), "{} asks nothing", probe.name());
            let stop = AtomicBool::new(false);
            let report = run_probe(*probe, &site, timing, &stop, &mut Silent).unwrap();
            assert!(!report.cells.is_empty(), "{} has no cells", probe.name());
            let ready = report.cells.iter().filter(|result| result.cell.is_ready()).count();
            let measured = report.cells.iter().filter_map(|result| result.estimate());
            for e in measured.clone() {
                let good = e.low > 0.0 && e.low <= e.point && e.point <= e.high && e.n > 0;
                assert!(good, "{}: {e:?}", probe.name());
            }
            // On a busy machine a cell may lose all its samples; not all cells.
            assert!(ready == 0 || measured.count() > 0, "{} measures nothing", probe.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::NodeId;

    use super::*;

    #[test]
    fn a_node_that_is_closed_to_us_is_told_from_one_that_is_not_there() {
        let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-n4s2.tree");
        let mut machine = topology::read(&Root::recorded(recorded.as_ref()).unwrap());
        machine.limits.nodes = [NodeId(0)].into_iter().collect();
        machine.nodes[1].cpus = CpuSet::new();
        let asked = |node| {
            let nodes: NodeSet = [NodeId(node)].into_iter().collect();
            chosen_nodes(Some(&nodes), &machine).map_err(|failure| (failure.exit, failure.code))
        };
        assert!(asked(0).is_ok());
        assert_eq!(asked(1).unwrap_err(), (Exit::NotHere, Code::NotPermitted));
        assert_eq!(asked(9).unwrap_err(), (Exit::Usage, Code::BadValue));
    }
}
