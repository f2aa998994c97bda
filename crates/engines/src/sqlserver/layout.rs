//! What a server reports of itself: permissions, nodes, data placement, page accesses and counters.
//!
//! Limits: experimental, never run on SQL Server itself. Page accesses are counted per node for the
//! whole server, including other users' work.

use std::collections::BTreeMap;

use hopcost_core::{
    Code, CpuSet, Gauge, Known, Locality, Lookups, NodeId, PageSize, ProofMethod, Reading, Rows,
    gauge,
};

use super::super::server::wire::WireError;
use super::wire::Wire;
use super::writers;

/// When the server does not answer, its counters are tried.
pub fn may_look(wire: &mut Wire) -> bool {
    wire.value_of("may_look").ok().flatten().as_deref() != Some("0")
}

pub const MAY_NOT_LOOK: &str = "\
    the login may not look at what the server counts (VIEW SERVER STATE, from 2022 on VIEW SERVER PERFORMANCE STATE): \
    waits, spins, page accesses and the check of where work was done are missing; an administrator can GRANT it to the login";

pub fn told(wire: &mut Wire) -> Vec<String> {
    let [nodes, schedulers, memory] =
        ["nodes", "schedulers", "memory_nodes"].map(|name| wire.say(name).unwrap_or_default());
    let mut lines: Vec<String> =
        nodes.iter().filter_map(|node| of_node(node, &schedulers, &memory)).collect();
    let writers: CpuSet = writers::cpus(wire).unwrap_or_default().into_iter().collect();
    if !writers.is_empty() {
        lines.push(format!("the server writes its log on CPU {writers}"));
    }
    lines
}

type Row = [Option<String>];

fn of_node(node: &Row, schedulers: &Rows, memory: &Rows) -> Option<String> {
    let [Some(number), Some(memory_node), ..] = node else { return None };
    let is_its = |row: &&Vec<Option<String>>| {
        row.get(1) == Some(&node[0]) && row.get(2).is_some_and(|on| on.as_deref() == Some("1"))
    };
    let cpus: Vec<&str> =
        schedulers.iter().filter(is_its).filter_map(|row| row.first()?.as_deref()).collect();
    let of_memory = memory.iter().find(|row| row.first() == Some(&node[1]))?;
    let mib =
        |n: usize| -> Option<u64> { Some(of_memory.get(n)?.as_ref()?.parse::<u64>().ok()? >> 10) };
    Some(format!(
        "the server's node {number} has CPU {} in use, and memory node {memory_node} with {} MiB, {} of them on \
         another node",
        cpus.join(", "),
        mib(1)?,
        mib(2)?
    ))
}

pub fn locality(wire: &mut Wire, asked: NodeId) -> Known<Vec<Locality>> {
    let rows = match wire.say("page_homes") {
        Ok(rows) => rows,
        Err(error) => {
            let words = format!("where the server has its pages: {error}");
            return Known::missing(Code::Unreadable, words);
        }
    };
    let of_node =
        |[node, pages]: [String; 2]| Some(vec![(NodeId(node.parse().ok()?), pages.parse().ok()?)]);
    let pages_by_node: BTreeMap<NodeId, u64> = each(rows, of_node).into_iter().collect();
    if pages_by_node.is_empty() {
        let words = "the server has no page of ours in its buffers";
        return Known::missing(Code::NotApplicable, words);
    }
    Known::Is(vec![Locality {
        asked,
        spread: Vec::new(),
        bound: false,
        pages_by_node,
        pages_unknown: 0,
        method: ProofMethod::BufferDescriptors,
        page_size: PageSize::Base,
        page_size_share: 1.0,
    }])
}

/// Page accesses by the workers of one node. Its own connection, as the session's may be busy.
pub struct Watch {
    wire: Wire,
    at: NodeId,
    /// The node that stands for all others.
    elsewhere: NodeId,
    before: Option<[u64; 2]>,
}

impl Watch {
    pub fn new(wire: Wire, at: NodeId, home: Option<NodeId>) -> Self {
        let other = NodeId(u32::from(at.0 == 0));
        let elsewhere = home.filter(|home| *home != at).unwrap_or(other);
        Self { wire, at, elsewhere, before: None }
    }

    pub fn begin(&mut self) {
        self.before = self.read().ok();
    }

    /// Near and far accesses since `begin`; `None` when the server reports none.
    pub fn counted(&mut self) -> Option<Lookups> {
        let before = self.before.take()?;
        let now = self.read().ok()?;
        let [near, far] = [0, 1].map(|n| now[n].saturating_sub(before[n]));
        let acquisitions = BTreeMap::from([(self.at, near), (self.elsewhere, far)]);
        (near + far > 0).then(|| Lookups { acquisitions, ..Lookups::default() })
    }

    fn read(&mut self) -> Result<[u64; 2], WireError> {
        let mut counts = [0; 2];
        for row in self.wire.say("buffer_nodes")? {
            let [Some(node), Some(side), Some(count)] = row.as_slice() else { continue };
            if node.parse() == Ok(self.at.0) {
                let unread =
                    |_| WireError::Lost(format!("'{count}' is no number of page accesses"));
                counts[usize::from(side == "remote")] = count.parse().map_err(unread)?;
            }
        }
        Ok(counts)
    }
}

type Count = (&'static str, fn(Rows) -> Vec<Reading>);

const COUNTS: [Count; 5] = [
    ("buffer_nodes", |rows| {
        each(rows, |[node, side, count]| {
            let is_remote = side == "remote";
            let gauge =
                if is_remote { gauge::REMOTE_PAGE_LOOKUPS } else { gauge::LOCAL_PAGE_LOOKUPS };
            Some(vec![count_of(gauge, format!("node {node}"), &count)?])
        })
    }),
    ("buffer_reads", |rows| {
        each(rows, |[count]| Some(vec![count_of(gauge::BUFFER_READS, String::new(), &count)?]))
    }),
    ("log_bytes", |rows| {
        each(rows, |[name, count]| {
            let gauge =
                if name.starts_with("Log Bytes") { gauge::WAL_BYTES } else { gauge::LOG_FLUSHES };
            Some(vec![count_of(gauge, String::new(), &count)?])
        })
    }),
    ("waits", |rows| each(rows, |[kind, ms]| Some(vec![count_of(gauge::WAIT_MS, kind, &ms)?]))),
    ("spinlocks", |rows| {
        each(rows, |[name, collisions, spins, backoffs]| {
            Some(vec![
                count_of(gauge::SPIN_COLLISIONS, name.clone(), &collisions)?,
                count_of(gauge::SPINS, name.clone(), &spins)?,
                count_of(gauge::SPIN_BACKOFFS, name, &backoffs)?,
            ])
        })
    }),
];

fn count_of(gauge: &'static Gauge, of: String, value: &str) -> Option<Reading> {
    Some(Reading { gauge, of, value: value.parse().ok()? })
}

fn each<const N: usize, T>(rows: Rows, read: impl Fn([String; N]) -> Option<Vec<T>>) -> Vec<T> {
    let read = |row: Vec<Option<String>>| {
        let values: Vec<String> = row.into_iter().collect::<Option<_>>()?;
        read(values.try_into().ok()?)
    };
    rows.into_iter().filter_map(read).flatten().collect()
}

pub fn readings(wire: &mut Wire) -> Vec<Reading> {
    let read = |(name, read): &Count| wire.say(name).map(*read).unwrap_or_default();
    COUNTS.iter().flat_map(read).collect()
}

pub fn untold(wire: &mut Wire) -> Vec<String> {
    if !may_look(wire) {
        return vec![MAY_NOT_LOOK.to_owned()];
    }
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, _) in COUNTS {
        if let Err(error) = wire.say(name) {
            missing.entry(error.to_string()).or_default().push(name);
        }
    }
    let words = |(words, names): (String, Vec<&str>)| {
        format!("the server's {} are missing, because it says: {words}", names.join(", "))
    };
    missing.into_iter().map(words).collect()
}
