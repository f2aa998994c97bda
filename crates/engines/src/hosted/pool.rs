//! Parallel workers of a query: starting and moving them, and where they ran.
//!
//! Method: all sessions share the library's worker threads, which inherit their creator's affinity.
//! Before a window a thread on the named CPUs starts the variant's workers; workers to be moved are
//! pinned at once. After it the kernel reports which ran, and on which CPU last.
//!
//! Limits: one pool for all clients of a window. Places are read once a window; a worker cannot
//! have run elsewhere if its mask allows no other CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_core::{
    Checks, CpuSet, Machine, Metric, NodeId, Parallel, Reading, SessionPlacement, TargetError,
    VariantSettings,
};
use hopcost_sys::affinity;

use super::super::server::nodes::{Looks, Nodes};
use super::protocol::Question;
use super::wire::Wire;

/// A worker that ran less than this in a window took no part in it.
const A_PART_NS: u64 = 100_000;

pub struct Pools {
    nodes: Nodes,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pools: Vec<(VariantSettings, Pool)>,
    seen: BTreeMap<Option<NodeId>, Looks>,
}

impl Pools {
    pub fn on(machine: &Machine) -> Self {
        Self { nodes: Nodes::of(machine), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the variant's workers before a window, through the thread that serves this
    /// connection. With `dop = 1` there are none.
    pub fn enter(
        &self,
        variant: &VariantSettings,
        connect: impl FnOnce(SessionPlacement) -> Result<(Wire, [u32; 2]), TargetError>,
    ) -> Result<(), TargetError> {
        let parallel = variant.parallel.filter(|parallel| parallel.dop > 1);
        let Some(parallel) = parallel else { return Ok(()) };
        let at = variant.of_stream(0, 0);
        let pool = Pool::begin(connect(at)?, parallel, at.node, &self.nodes);
        let pools = &mut self.state().pools;
        pools.retain(|(of, _)| of != variant);
        pools.push((variant.clone(), pool));
        Ok(())
    }

    /// After a window: how many of the workers ran, and how many in place. Then ends them, so that
    /// the next variant does not use them.
    pub fn leave(&self, variant: &VariantSettings) -> Checks {
        let mut proved = Checks::new();
        let State { pools, seen } = &mut *self.state();
        if let Some(n) = pools.iter().position(|(of, _)| of == variant) {
            let mut pool = pools.swap_remove(n).1;
            pool.look(&mut proved, seen.entry(pool.leader).or_default());
            pool.set_threads(1);
        }
        proved
    }

    pub fn readings(&self) -> Vec<Reading> {
        let seen = std::mem::take(&mut self.state().seen);
        seen.iter().flat_map(|(node, looks)| self.nodes.told(*node, looks)).collect()
    }
}

struct Pool {
    wire: Wire,
    process: u32,
    /// Counts the session's own thread.
    dop: u32,
    /// The CPUs they belong on: where they are moved to, else start, else their session's.
    place: Option<CpuSet>,
    leader: Option<NodeId>,
    /// Thread ids, and the CPU time of each at the window's start.
    workers: Vec<(u32, u64)>,
}

impl Pool {
    fn begin(
        (wire, [process, thread]): (Wire, [u32; 2]),
        Parallel { dop, postmaster, workers }: Parallel,
        leader: Option<NodeId>,
        nodes: &Nodes,
    ) -> Self {
        let cpus_of = |node: Option<NodeId>| nodes.cpus_of(node?);
        let place = cpus_of(workers.or(postmaster).or(leader));
        let mut pool = Self { wire, process, dop, place, leader, workers: Vec::new() };
        pool.set_threads(1);
        let before = pool.threads();
        let begin_on = cpus_of(postmaster).unwrap_or_else(|| nodes.all());
        // What could not be moved or started shows in the proof.
        let _ = affinity::pin_other(thread, &begin_on);
        pool.set_threads(dop);
        for thread in pool.threads().difference(&before) {
            if let Some(cpus) = cpus_of(workers) {
                let _ = affinity::pin_other(*thread, &cpus);
            }
            pool.workers.push((*thread, pool.ran_ns(*thread).unwrap_or(0)));
        }
        pool
    }

    fn set_threads(&mut self, count: u32) {
        let _ = self.wire.ask::<()>(&Question::Threads(count));
    }

    fn threads(&self) -> BTreeSet<u32> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.process));
        let entries = entries.into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    fn look(&self, proved: &mut Checks, looks: &mut Looks) {
        let has_run = |(thread, before): &&(u32, u64)| {
            self.ran_ns(*thread).is_some_and(|ran| ran >= before + A_PART_NS)
        };
        let ran: Vec<u32> =
            self.workers.iter().filter(has_run).map(|(thread, _)| *thread).collect();
        let due = u64::from(self.dop - 1);
        proved.insert(Metric::ParallelWorkersRan, [(ran.len() as u64).min(due), due]);
        if let Some(place) = &self.place {
            let in_place = ran.iter().filter(|thread| is_within(**thread, place)).count();
            proved.insert(Metric::ParallelWorkersInPlace, [in_place as u64, ran.len() as u64]);
        }
        for cpu in ran.into_iter().filter_map(affinity::last_cpu_of) {
            *looks.entry(cpu).or_default() += 1;
        }
    }

    fn ran_ns(&self, thread: u32) -> Option<u64> {
        let file = format!("/proc/{}/task/{thread}/schedstat", self.process);
        fs::read_to_string(file).ok()?.split_whitespace().next()?.parse().ok()
    }
}

fn is_within(thread: u32, place: &CpuSet) -> bool {
    let may =
        affinity::mask_of(thread).is_ok_and(|mask| mask.iter().all(|cpu| place.contains(cpu)));
    may && affinity::last_cpu_of(thread).is_some_and(|cpu| place.contains(cpu))
}
