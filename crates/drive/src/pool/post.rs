//! The parameters of a worker and of a window.

use std::time::{Duration, Instant};

use hopcost_core::{
    Answer, Counted, CpuId, Instance, Load, Metric, NodeId, Request, Requests, Seeming, Session,
    Shape, VariantSettings, Workload,
};
use hopcost_sys::clock;

use super::tally::Tally;

#[derive(Clone, Copy)]
pub struct Work<'a> {
    pub instance: &'a dyn Instance,
    pub workload: &'a dyn Workload,
    pub shape: Shape,
    pub load: Load,
    pub planted: Option<Seeming<'a>>,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub guard: Duration,
    /// Minimum, after the guard.
    pub length: Duration,
    pub calls_per_stream: u64,
    pub streams: u32,
    pub keep_calls: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub start: Instant,
    pub ask: Ask,
}

pub(super) struct Post<'a> {
    pub work: Work<'a>,
    pub cpu: CpuId,
    pub variant: VariantSettings,
    pub streams: Vec<u32>,
    /// All clients.
    pub of: u32,
    pub threads: usize,
}

impl Post<'_> {
    pub(super) fn check(&self, request: &Request, answer: &Answer, tally: &mut Tally) {
        if let Err(reason) = self.work.workload.check(self.work.shape, request, answer) {
            tally.fail(reason.to_string());
        }
    }
}

pub(super) struct Line {
    pub number: u32,
    /// Set if the clients are on several nodes.
    pub node: Option<NodeId>,
    pub session: Box<dyn Session>,
    pub requests: Box<dyn Requests>,
    pub calls: u64,
}

impl Line {
    /// If clients are on several nodes, only the worker knows which pages are local.
    pub(super) fn counted(&mut self) -> Counted {
        let mut counted = self.session.counted();
        if let (Some(node), Some(lookups)) = (self.node, &counted.lookups) {
            let by_node = match &lookups.acquisitions {
                acquisitions if acquisitions.is_empty() => &lookups.distinct_pages,
                acquisitions => acquisitions,
            };
            let local = by_node.get(&node).copied().unwrap_or(0);
            counted.proved.insert(Metric::LocalLookups, [local, by_node.values().sum()]);
        }
        counted
    }
}

/// Waking up takes about as long, so shorter waits spin.
const SHORT: Duration = Duration::from_micros(80);

pub(super) fn wait_until(moment: Instant) {
    loop {
        let left = moment.saturating_duration_since(clock::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(SHORT) {
            Some(most) => std::thread::sleep(most),
            None => std::hint::spin_loop(),
        }
    }
}
