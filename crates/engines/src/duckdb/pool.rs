//! Parallel workers of a query: where they are begun, where they are moved to, and where they ran.
//!
//! Method: DuckDB's workers are threads that all its sessions share, and a thread begins on the CPUs of the one that
//! begins it. Before a window as many are begun as the variant asks for, over a
//! connection of the pool's own, whose thread stands meanwhile where the level has them begun; what is to be moved
//! is pinned at once. After the window the kernel tells which have run, for how long, and where each was last;
//! then they are ended.
//!
//! Limits: one pool serves all streams of a window. Where workers were is seen once a window, after it; that they
//! could be nowhere else is known where their mask allows no more.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopcost_core::{Checks, CpuSet, Metric, NodeId, Parallel, Reading};
use hopcost_sys::affinity;

use super::super::server::nodes::{Looks, Nodes};
use super::instance::Wire;
use super::protocol::{self, POOL};

/// What a worker has to have run in a window to have had a part in it.
const A_PART_NS: u64 = 100_000;

/// What was seen of workers in a window, by their session's node.
#[derive(Debug, Default)]
pub struct Sightings(Mutex<BTreeMap<Option<NodeId>, Looks>>);

impl Sightings {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Option<NodeId>, Looks>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen since the last time.
    pub fn readings(&self, nodes: &Nodes) -> Vec<Reading> {
        let seen = std::mem::take(&mut *self.all());
        seen.iter().flat_map(|(node, looks)| nodes.told(*node, looks)).collect()
    }
}

/// The workers of a session's level, where it has some.
pub struct Pool {
    wire: Wire,
    process: u32,
    /// The session's own thread is one of so many.
    dop: u32,
    /// Where workers are begun.
    begun_on: CpuSet,
    moves_to: Option<CpuSet>,
    /// Where they belong: where they are put or begun, or with their session.
    place: Option<CpuSet>,
    leader: Option<NodeId>,
    /// The threads, and how long each had run when the window began.
    workers: Vec<(u32, u64)>,
    /// Are they there for this window?
    sightings: Arc<Sightings>,
}

impl Pool {
    /// Of a session on node `at` of this process, to which the wire goes.
    pub fn of(
        (wire, process): (Wire, u32),
        parallel: Parallel,
        at: Option<NodeId>,
        nodes: &Nodes,
        sightings: &Arc<Sightings>,
    ) -> Self {
        let Parallel { dop, postmaster, workers } = parallel;
        let place = workers.or(postmaster).or(at);
        Self {
            wire,
            process,
            dop,
            begun_on: postmaster
                .and_then(|node| nodes.cpus_of(node))
                .unwrap_or_else(|| nodes.all()),
            moves_to: workers.and_then(|node| nodes.cpus_of(node)),
            place: place.and_then(|node| nodes.cpus_of(node)),
            leader: at,
            workers: Vec::new(),
            sightings: Arc::clone(sightings),
        }
    }

    /// Before a window: the workers are begun.
    pub fn stand(&mut self) {
        // Workers that could not be begun are not seen to run.
        let threads = self.ask(self.dop).unwrap_or_default();
        if let Some(cpus) = &self.moves_to {
            for thread in &threads {
                // Where it cannot be moved the proof will tell.
                let _ = affinity::pin_other(*thread, cpus);
            }
        }
        let ran = |thread| (thread, self.ran_ns(thread).unwrap_or(0));
        self.workers = threads.into_iter().map(ran).collect();
    }

    /// Has so many threads work on a query: those that were begun for it.
    fn ask(&mut self, dop: u32) -> Option<Vec<u32>> {
        let cpus = self.begun_on.iter().map(|cpu| cpu.0);
        let numbers = protocol::numbers([dop].into_iter().chain(cpus));
        let (tag, content) = self.wire.ask(POOL, &numbers).ok()?;
        (tag == POOL).then(|| protocol::numbers_in(&content))
    }

    /// How many of the workers ran, and how many of those in their place. Then they are ended: whoever comes
    /// next is not to work with them.
    pub fn counted(&mut self, proved: &mut Checks) {
        self.look(proved);
        self.workers.clear();
        self.ask(1);
    }

    fn look(&self, proved: &mut Checks) {
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
        let mut all = self.sightings.all();
        let looks = all.entry(self.leader).or_default();
        for cpu in ran.into_iter().filter_map(affinity::last_cpu_of) {
            *looks.entry(cpu).or_default() += 1;
        }
    }

    /// How long a thread has been on a CPU.
    fn ran_ns(&self, thread: u32) -> Option<u64> {
        let file = format!("/proc/{}/task/{thread}/schedstat", self.process);
        fs::read_to_string(file).ok()?.split_whitespace().next()?.parse().ok()
    }
}

/// Was it there, and could it be nowhere else?
fn is_within(thread: u32, place: &CpuSet) -> bool {
    let may =
        affinity::mask_of(thread).is_ok_and(|mask| mask.iter().all(|cpu| place.contains(cpu)));
    may && affinity::last_cpu_of(thread).is_some_and(|cpu| place.contains(cpu))
}
