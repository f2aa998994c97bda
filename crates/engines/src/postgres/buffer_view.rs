//! The nodes of the shared buffers as the server reports them: a second proof beside `move_pages`.
//!
//! Method: from version 18 on, servers built with libnuma report the node of each page in
//! `pg_buffercache_numa` and `pg_shmem_allocations_numa`.
//!
//! Limits: the views touch every page. They are not used on existing servers, and a query is
//! repeated only after ten times its duration.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hopcost_core::{Code, NodeId, Reason};
use hopcost_sys::clock;

use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

const OLDEST: u32 = 18;
const REST: u32 = 10;

const BY_NODE: &str = "SELECT numa_node, count(*) FROM pg_buffercache_numa GROUP BY 1";
const ALL_BY_NODE: &str =
    "SELECT numa_node, sum(size)::int8 FROM pg_shmem_allocations_numa GROUP BY 1";

#[derive(Debug)]
pub struct BufferView {
    last: Option<(Instant, Duration)>,
    asked: u32,
    found: Pages,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    pub by_node: BTreeMap<NodeId, u64>,
    pub unknown: u64,
}

impl BufferView {
    /// An error says why the server lacks the views.
    pub fn of(wire: &mut Wire) -> Result<Self, Reason> {
        let version = wire.major();
        if version < OLDEST {
            return Err(Code::WrongVersion
                .because(format!("it came with PostgreSQL {OLDEST}, and this is {version}")));
        }
        let refused = |error: WireError| Code::EngineFailed.because(error.to_string());
        let is_built = wire.value("SELECT pg_numa_available()").map_err(refused)?;
        if is_built.as_deref() != Some("t") {
            let words = "the server, or its kernel, was built without NUMA";
            return Err(Code::KernelLacks.because(words));
        }
        wire.query("CREATE EXTENSION IF NOT EXISTS pg_buffercache").map_err(refused)?;
        // Allocates every page now: the first session to use a page would otherwise determine its
        // node.
        pages(wire, BY_NODE).map_err(refused)?;
        Ok(Self { last: None, asked: 0, found: Pages::default() })
    }

    /// `None` when the last query was too recent.
    pub fn ask(&mut self, wire: &mut Wire) -> Result<Option<&Pages>, WireError> {
        if self.last.is_some_and(|(end, took)| end.elapsed() < took * REST) {
            return Ok(None);
        }
        let begin = clock::now();
        self.found = pages(wire, BY_NODE)?;
        self.last = Some((clock::now(), begin.elapsed()));
        self.asked += 1;
        Ok(Some(&self.found))
    }

    pub fn summary(&self, wire: &mut Wire, home: NodeId) -> Result<Option<String>, WireError> {
        let Some((_, took)) = self.last else { return Ok(None) };
        let all = pages(wire, ALL_BY_NODE)?;
        let share = |of: &Pages| 100.0 * of.share(home);
        Ok(Some(format!(
            "pg_buffercache_numa, asked outside of windows {} times, {} ms the last time: {:.1}% of \
             {} pages on node {home}; pg_shmem_allocations_numa: {:.1}% of {} MiB",
            self.asked,
            took.as_millis(),
            share(&self.found),
            self.found.count(),
            share(&all),
            all.count() >> 20
        )))
    }
}

impl Pages {
    fn count(&self) -> u64 {
        self.by_node.values().sum::<u64>() + self.unknown
    }

    fn share(&self, node: NodeId) -> f64 {
        self.by_node.get(&node).copied().unwrap_or(0) as f64 / self.count().max(1) as f64
    }
}

/// A page that is on no node has a negative node number or NULL.
fn pages(wire: &mut Wire, sql: &str) -> Result<Pages, WireError> {
    let mut pages = Pages::default();
    for row in wire.query(sql)? {
        let number = |at: usize| row.get(at).cloned().flatten();
        let count = number(1).and_then(|count| count.parse().ok()).unwrap_or(0);
        match number(0).and_then(|node| node.parse().ok()) {
            Some(node) => *pages.by_node.entry(NodeId(node)).or_default() += count,
            None => pages.unknown += count,
        }
    }
    Ok(pages)
}
