//! Parallel workers: where they start, where they are moved, and where they ran.
//!
//! Method: workers inherit the postmaster's CPUs, so a managed postmaster is pinned before each
//! window. A thread scans the postmaster's children every 1 ms (100 ms when the experiment is not
//! about parallel workers), finds workers by their title, records their last CPU and then moves
//! them.
//!
//! Limits: a worker can be missed between two scans, so workers are counted too. The thread takes a
//! few percent of a CPU, in all variants alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hopcost_core::{Checks, CpuSet, Metric, NodeId, Parallel, Reading};
use hopcost_sys::{Root, affinity, processes, titles};

use super::super::server::cluster::place;
use super::super::server::nodes::{Looks, Nodes, within};

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(100);

/// Makes a session use parallel workers for a sequential scan of any size. Index scans stay serial
/// when small, so that a query has no second team.
pub fn settings(dop: u32) -> String {
    format!(
        "SET max_parallel_workers_per_gather = {}; SET parallel_setup_cost = 0; \
         SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
        dop.saturating_sub(1)
    )
}

pub const RESET: &str = "\
    RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; \
    RESET min_parallel_table_scan_size";

#[derive(Default)]
struct Leader {
    node: Option<NodeId>,
    moves_to: Option<CpuSet>,
    is_parallel: bool,
    counts: bool,
    looks: Looks,
    workers: BTreeSet<u32>,
}

type Leaders = BTreeMap<u32, Leader>;

fn locked(leaders: &Mutex<Leaders>) -> MutexGuard<'_, Leaders> {
    leaders.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Watch {
    postmaster: u32,
    nodes: Nodes,
    leaders: Arc<Mutex<Leaders>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn over(postmaster: u32, nodes: &Nodes) -> Self {
        let (leaders, over) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let watcher = Watcher {
            postmaster,
            leaders: Arc::clone(&leaders),
            over: Arc::clone(&over),
            known: BTreeMap::new(),
        };
        let cpus = nodes.all();
        let thread = std::thread::spawn(move || {
            // The thread inherits the CPU of its creator, where a session may work.
            let _ = affinity::pin(&cpus);
            watcher.watch();
        });
        Self { postmaster, nodes: nodes.clone(), leaders, over, thread: Some(thread) }
    }

    fn leaders(&self) -> MutexGuard<'_, Leaders> {
        locked(&self.leaders)
    }

    /// `None`: all CPUs.
    pub fn begin_workers_on(&self, node: Option<NodeId>) {
        let free = || Some(self.nodes.all());
        if let Some(cpus) = node.map_or_else(free, |node| self.nodes.cpus_of(node)) {
            // A failure shows in the proof.
            place(self.postmaster, &cpus);
        }
    }

    /// By the leader's node. Counting stops until it is begun again.
    pub fn readings(&self) -> Vec<Reading> {
        let mut sums: BTreeMap<Option<NodeId>, Looks> = BTreeMap::new();
        for leader in self.leaders().values_mut().filter(|leader| leader.counts) {
            leader.counts = false;
            if leader.is_parallel || !leader.looks.is_empty() {
                let sum = sums.entry(leader.node).or_default();
                for (cpu, looks) in &leader.looks {
                    *sum.entry(*cpu).or_default() += looks;
                }
            }
        }
        sums.iter().flat_map(|(node, looks)| self.nodes.told(*node, looks)).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Watcher {
    postmaster: u32,
    leaders: Arc<Mutex<Leaders>>,
    over: Arc<AtomicBool>,
    known: BTreeMap<u32, Known>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    WorksFor(u32),
    Silent(u32),
}

/// Scans after which a child is taken for another kind of process. A new child shows its parent's
/// title first, then briefly a mixture of both.
const PATIENCE: u32 = 200;

impl Watcher {
    fn watch(mut self) {
        let children = format!("/proc/{0}/task/{0}/children", self.postmaster);
        while !self.over.load(Ordering::Relaxed) {
            // Without this file (kernel option) or the server the claims stay unproved.
            let Ok(children) = fs::read_to_string(&children) else { return };
            let is_about_them = self.look(&children);
            std::thread::sleep(if is_about_them { SHORT } else { LONG });
        }
    }

    /// Is any session's experiment about parallel workers?
    fn look(&mut self, children: &str) -> bool {
        let children: BTreeSet<u32> =
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        self.known.retain(|pid, _| children.contains(pid));
        let mut workers = Vec::new();
        let leads: BTreeSet<u32> = locked(&self.leaders).keys().copied().collect();
        for pid in children.difference(&leads) {
            let known = self.known.entry(*pid).or_insert(Known::Silent(0));
            *known = known.after_a_look(&children, || processes::title(&Root::live(), *pid).ok());
            if let Known::WorksFor(leader) = known {
                workers.push((*pid, *leader));
            }
        }
        let mut leaders = locked(&self.leaders);
        for (pid, leader) in workers {
            let Some(leader) = leaders.get_mut(&leader) else { continue };
            let Some(cpu) = affinity::last_cpu_of(pid) else { continue };
            *leader.looks.entry(cpu).or_default() += 1;
            leader.workers.insert(pid);
            if let Some(cpus) = &leader.moves_to {
                place(pid, cpus);
            }
        }
        leaders.values().any(|leader| leader.is_parallel)
    }
}

impl Known {
    fn after_a_look(self, all: &BTreeSet<u32>, title: impl FnOnce() -> Option<String>) -> Self {
        match self {
            Self::Silent(looks) if looks < PATIENCE => {
                let leader = title().and_then(|title| titles::of_title(&title)?.leader);
                // A truncated PID hardly matches another child.
                let leader = leader.filter(|leader| all.contains(leader));
                leader.map_or(Self::Silent(looks + 1), Self::WorksFor)
            }
            known => known,
        }
    }
}

pub struct Team {
    watch: Arc<Watch>,
    leader: u32,
    dop: u32,
    /// Where the workers belong: `workers`, else `postmaster`, else the leader's node.
    place: Option<CpuSet>,
    calls: u64,
}

impl Team {
    pub fn of(
        watch: &Arc<Watch>,
        leader: u32,
        at: Option<NodeId>,
        parallel: Option<Parallel>,
    ) -> Self {
        let Parallel { dop, postmaster, workers } = parallel.unwrap_or_default();
        let moves_to = workers.and_then(|node| watch.nodes.cpus_of(node));
        let told = Leader { node: at, moves_to, is_parallel: dop > 1, ..Leader::default() };
        watch.leaders().insert(leader, told);
        Self {
            watch: Arc::clone(watch),
            leader,
            dop,
            place: workers.or(postmaster).or(at).and_then(|node| watch.nodes.cpus_of(node)),
            calls: 0,
        }
    }

    #[inline]
    pub fn answered(&mut self) {
        self.calls += 1;
    }

    pub fn begin_counting(&mut self) {
        self.calls = 0;
        if let Some(leader) = self.watch.leaders().get_mut(&self.leader) {
            leader.looks.clear();
            leader.workers.clear();
            leader.counts = true;
        }
    }

    /// Adds [scans that found a worker in place, all scans] and [distinct workers seen, workers
    /// that the calls need].
    pub fn counted(&mut self, proved: &mut Checks) {
        if self.dop < 2 {
            return;
        }
        let leaders = self.watch.leaders();
        let Some(leader) = leaders.get(&self.leader) else { return };
        if let Some(place) = &self.place {
            let counts = [within(&leader.looks, place), leader.looks.values().sum()];
            proved.insert(Metric::ParallelWorkersInPlace, counts);
        }
        let due = self.calls * u64::from(self.dop - 1);
        let ran = (leader.workers.len() as u64).min(due);
        proved.insert(Metric::ParallelWorkersRan, [ran, due]);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.watch.leaders().remove(&self.leader);
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::CpuId;

    use super::*;

    fn two_nodes() -> Nodes {
        let node = |(n, cpus)| (NodeId(n), CpuSet::parse_list(cpus).unwrap());
        Nodes([(0, "0-1"), (1, "2-3")].map(node).into())
    }

    /// Watches no process: tests supply the scans.
    fn watch() -> Arc<Watch> {
        let mut watch = Watch::over(0, &two_nodes());
        let thread = watch.thread.take();
        thread.unwrap().join().unwrap();
        Arc::new(watch)
    }

    fn see(watch: &Watch, leader: u32, looks: &[(u32, u64)], workers: &[u32]) {
        let mut leaders = watch.leaders();
        let leader = leaders.get_mut(&leader).unwrap();
        leader.looks.extend(looks.iter().map(|(cpu, looks)| (CpuId(*cpu), *looks)));
        leader.workers.extend(workers);
    }

    fn proved(team: &mut Team) -> Checks {
        let mut proved = BTreeMap::new();
        team.counted(&mut proved);
        proved
    }

    #[test]
    fn workers_are_in_place_with_their_leader_or_where_they_were_put() {
        let watch = watch();
        for (postmaster, workers, in_place) in [
            (None, None, 30),
            (Some(NodeId(1)), None, 10),
            (None, Some(NodeId(1)), 10),
            (Some(NodeId(1)), Some(NodeId(0)), 30),
        ] {
            let parallel = Parallel { dop: 3, postmaster, workers };
            let mut team = Team::of(&watch, 7, Some(NodeId(0)), Some(parallel));
            team.begin_counting();
            see(&watch, 7, &[(0, 10), (1, 20), (3, 10)], &[100, 101, 102]);
            team.answered();
            team.answered();
            let proved = proved(&mut team);
            assert_eq!(proved[&Metric::ParallelWorkersInPlace], [in_place, 40]);
            assert_eq!(proved[&Metric::ParallelWorkersRan], [3, 4]);
        }
    }

    #[test]
    fn a_child_is_asked_again_until_its_title_is_its_own() {
        let all = BTreeSet::from([41, 1234]);
        let mut known = Known::Silent(0);
        for title in [
            "/usr/bin/postgres -D data",
            "postgres: parallel worker for P-D data",
            "postgres: parallel worker for PID 12",
            "postgres: parallel worker for PID 1234  data",
        ] {
            known = known.after_a_look(&all, || Some(title.to_owned()));
            assert!(matches!(known, Known::Silent(_)), "{title}");
        }
        let whole = || Some("postgres: parallel worker for PID 1234 ".to_owned());
        assert_eq!(known.after_a_look(&all, whole), Known::WorksFor(1234));
        assert_eq!(Known::Silent(PATIENCE).after_a_look(&all, whole), Known::Silent(PATIENCE));
    }

    #[test]
    fn nothing_is_claimed_of_a_session_that_works_alone() {
        let watch = watch();
        let alone = Parallel { dop: 1, ..Parallel::default() };
        for parallel in [None, Some(alone)] {
            let mut team = Team::of(&watch, 7, Some(NodeId(0)), parallel);
            team.begin_counting();
            team.answered();
            assert!(proved(&mut team).is_empty());
            assert!(watch.readings().is_empty(), "no workers, and none asked for");
        }
    }

    #[test]
    fn looks_are_told_by_node_and_by_the_leaders_node_and_only_of_what_counts() {
        let watch = watch();
        let parallel = Some(Parallel { dop: 2, ..Parallel::default() });
        let mut teams =
            [(7, 0), (8, 1)].map(|(pid, node)| Team::of(&watch, pid, Some(NodeId(node)), parallel));
        teams[1].begin_counting();
        see(&watch, 7, &[(0, 5)], &[100]);
        see(&watch, 8, &[(0, 1), (2, 2), (3, 4)], &[101]);
        let told: BTreeMap<String, u64> =
            watch.readings().into_iter().map(|r| (r.of, r.value as u64)).collect();
        let value = |of: &str| told[&format!("{of}, leader on node 1")];
        assert_eq!(["node 0", "node 1", "cpu 1", "cpu 3"].map(value), [1, 6, 0, 4]);
        assert_eq!(told.len(), 6, "{told:?}");
        assert!(watch.readings().is_empty(), "the window is over");
    }
}
