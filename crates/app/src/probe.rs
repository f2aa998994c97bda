//! Runs hardware probes without an experiment.

use std::path::PathBuf;
use std::time::Duration;

use hopcost_core::{Code, CpuSet, Effort, Machine, NodeSet, PageSize, Probe, ProbeError, Site};
use hopcost_data::published;
use hopcost_host::probes::PROBES;
use hopcost_method::hardware::{self, Timing};
use hopcost_method::pace::StartsAsked;
use hopcost_sys::journal::Journal;
use hopcost_sys::{memory, topology};

use crate::figures::{self, Occasions};
use crate::{App, Control, Event, Failure, NotRun, Outcome, ProbeResult, ProbesResult};

#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// Empty: all probes that need not be asked for by name.
    pub names: Vec<String>,
    pub effort: Effort,
    pub starts: StartsAsked,
    pub budget_s: Option<f64>,
    /// `None`: all.
    pub cpus: Option<CpuSet>,
    /// `None`: all.
    pub nodes: Option<NodeSet>,
    pub size_bytes: Option<u64>,
    pub stride_bytes: Option<u64>,
    /// `None`: the largest that are available.
    pub pages: Option<PageSize>,
    pub log_dir: PathBuf,
    pub seed: u64,
    /// Reserve huge pages, with a settings journal.
    pub allow_machine_changes: bool,
    /// Has the earlier occasions of this host, and is only read. It may not exist.
    pub store: PathBuf,
}

impl Default for ProbeRequest {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            effort: Effort::Normal,
            starts: StartsAsked::Usual,
            budget_s: None,
            cpus: None,
            nodes: None,
            size_bytes: None,
            stride_bytes: None,
            pages: None,
            log_dir: ".".into(),
            seed: 1,
            allow_machine_changes: false,
            store: PathBuf::new(),
        }
    }
}

impl App {
    pub fn probe(
        &self,
        asked: &ProbeRequest,
        machine: &Machine,
        control: &mut Control<'_>,
    ) -> Outcome<ProbesResult> {
        let site = site(asked, machine)?;
        let timing = Timing::of(site.effort);
        let budget = asked.budget_s.map_or(timing.budget, Duration::from_secs_f64);
        let timing = Timing { budget, ..timing };
        let starts = hardware::starts(asked.starts, asked.effort, timing.budget);
        let occasions = Occasions::in_store(&asked.store, asked.effort, machine)?;
        let mut journal = Journal::new(&self.dirs.state);
        let is_wanted = |probe: &&dyn Probe| {
            let is_named = asked.names.iter().any(|name| name == probe.name());
            is_named || (asked.names.is_empty() && probe.is_for_all())
        };
        let probes: Vec<&dyn Probe> = PROBES.iter().copied().filter(is_wanted).collect();
        if asked.allow_machine_changes {
            for probe in &probes {
                reserve_huge_pages(*probe, &site, &mut journal)?;
            }
        }
        let what = if let [probe] = &probes[..] { probe.name() } else { "probes" };
        control.tell(Event::Began { what, after: Duration::ZERO });
        let mut result = ProbesResult::default();
        for (probe, found) in figures::measure(&probes, &site, timing, starts, &occasions, control)
        {
            let name = probe.name();
            match found {
                Ok(report) => {
                    let found = ProbeResult { report, published: published::beside(name) };
                    control.tell(Event::Probed(&found));
                    result.probes.push(found);
                }
                Err(ProbeError::NotHere(missing)) => {
                    control.tell(Event::NotProbed(name, &missing));
                    result.not_run.push(NotRun { probe: name, missing });
                }
                Err(error) => {
                    let words = Failure::from(error).to_string();
                    control.remark(&words);
                    let missing = Code::SystemFailed.because(words);
                    result.not_run.push(NotRun { probe: name, missing });
                    result.has_failed = true;
                }
            }
        }
        result.restored = journal.restore()?;
        Ok(result)
    }
}

fn site<'a>(asked: &ProbeRequest, machine: &'a Machine) -> Outcome<Site<'a>> {
    Ok(Site {
        machine,
        planted: None,
        effort: asked.effort,
        cpus: chosen_cpus(asked.cpus.as_ref(), machine)?,
        nodes: chosen_nodes(asked.nodes.as_ref(), machine)?,
        size_bytes: asked.size_bytes,
        stride_bytes: asked.stride_bytes,
        pages: asked.pages,
        may_bind: !memory::forbidden_calls()?.contains(&"mbind"),
        log_dir: asked.log_dir.clone(),
        seed: asked.seed,
    })
}

fn chosen_cpus(asked: Option<&CpuSet>, machine: &Machine) -> Outcome<CpuSet> {
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

fn chosen_nodes(asked: Option<&NodeSet>, machine: &Machine) -> Outcome<NodeSet> {
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

/// Grows the pools of huge pages after an entry in the settings journal.
fn reserve_huge_pages(probe: &dyn Probe, site: &Site<'_>, journal: &mut Journal) -> Outcome<()> {
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
    use std::sync::atomic::AtomicBool;

    use hopcost_core::Place;
    use hopcost_drive::{Silent, run_probe};
    use hopcost_sys::Root;

    use super::*;

    #[test]
    fn nodes_that_are_avoided_are_probed_where_they_are_named_and_only_there() {
        let columns = |machine: &str, nodes: Option<&str>| -> Vec<u32> {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
            let root = Root::recorded(format!("{dir}/{machine}.tree").as_ref()).unwrap();
            let machine = topology::read(&root);
            let asked = ProbeRequest {
                size_bytes: Some(4 << 20),
                nodes: nodes.map(|nodes| NodeSet::parse_list(nodes).unwrap()),
                ..ProbeRequest::default()
            };
            let site = site(&asked, &machine).unwrap();
            let latency = PROBES.iter().find(|probe| probe.name() == "latency").unwrap();
            let cells = latency.cells(&site).into_iter();
            let nodes = cells.filter_map(|cell| match cell.column {
                Place::Node(node) => Some(node.0),
                _ => None,
            });
            nodes.collect::<std::collections::BTreeSet<u32>>().into_iter().collect()
        };
        assert_eq!(columns("hand-gpu-memory", None), [0]);
        assert_eq!(columns("hand-gpu-memory", Some("0,1")), [0, 1]);
        assert_eq!(columns("hand-shared-cpus", None), [0]);
        assert_eq!(columns("hand-shared-cpus", Some("2,5")), [2, 5]);
    }

    #[test]
    fn every_probe_measures_what_it_says_it_can() {
        let machine = topology::read(&Root::live());
        let dir = tempfile::tempdir().unwrap();
        let asked = ProbeRequest {
            effort: Effort::Quick,
            size_bytes: Some(4 << 20),
            pages: Some(PageSize::Base),
            log_dir: dir.path().to_owned(),
            ..ProbeRequest::default()
        };
        let site = site(&asked, &machine).unwrap();
        let timing = Timing { budget: Duration::ZERO, warm_up: Duration::ZERO, least_rounds: 6 };
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
            // On a busy machine single cells may lose all samples, but not every cell.
            assert!(ready == 0 || measured.count() > 0, "{} measures nothing", probe.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::NodeId;
    use hopcost_sys::Root;

    use super::*;
    use crate::Ending;

    #[test]
    fn a_node_that_is_closed_to_us_is_told_from_one_that_is_not_there() {
        let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/vm-n4s2.tree");
        let mut machine = topology::read(&Root::recorded(recorded.as_ref()).unwrap());
        machine.limits.nodes = [NodeId(0)].into_iter().collect();
        machine.nodes[1].cpus = CpuSet::new();
        let asked = |node| {
            let nodes: NodeSet = [NodeId(node)].into_iter().collect();
            chosen_nodes(Some(&nodes), &machine).map_err(|failure| (failure.ending, failure.code))
        };
        assert!(asked(0).is_ok());
        assert_eq!(asked(1).unwrap_err(), (Ending::NotHere, Code::NotPermitted));
        assert_eq!(asked(9).unwrap_err(), (Ending::Usage, Code::BadValue));
    }
}
