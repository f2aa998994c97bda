//! The ladder of distance: how far a CPU is from a CPU, and from a memory node.
//!
//! Computed here once, for the picture, the probes and the planner alike. The classes come from
//! what shares what (cores, caches, nodes, sockets); only "far" rests on the firmware's distance
//! table, because nothing else tells one hop from two. A firmware distance is never used as a
//! latency.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::ids::{CpuId, NodeId};
use crate::known::Known;
use crate::machine::{Avoided, Cpu, Machine};

/// The firmware's distance of a node to itself.
const LOCAL: u32 = 10;

/// A rung of the ladder, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DistanceClass {
    /// The same hardware thread.
    SameCpu,
    /// Another thread of the same core.
    Sibling,
    /// Another core under the same last-level cache and on the same node.
    SameL3,
    /// The same memory node, another last-level cache.
    SameNode,
    /// Another memory node of the same socket.
    SameSocket,
    /// Another socket, one hop away (or the firmware does not tell hops apart).
    OtherSocket,
    /// A socket that the firmware rates farther than the nearest other one: two hops or more.
    FarSocket,
    /// Memory on a node without CPUs.
    MemoryOnly,
}

impl DistanceClass {
    /// All of them, nearest first.
    pub const ALL: [Self; 8] = [
        Self::SameCpu,
        Self::Sibling,
        Self::SameL3,
        Self::SameNode,
        Self::SameSocket,
        Self::OtherSocket,
        Self::FarSocket,
        Self::MemoryOnly,
    ];

    /// Its name in files, on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCpu => "same-cpu",
            Self::Sibling => "sibling",
            Self::SameL3 => "same-l3",
            Self::SameNode => "same-node",
            Self::SameSocket => "same-socket",
            Self::OtherSocket => "other-socket",
            Self::FarSocket => "far-socket",
            Self::MemoryOnly => "memory-only",
        }
    }

    /// Why a machine may lack this rung.
    const fn why_absent(self) -> &'static str {
        match self {
            Self::SameCpu => "no CPU is usable here",
            Self::Sibling => "no core has two usable threads",
            Self::SameL3 => "no two usable cores share a last-level cache",
            Self::SameNode => "no node has two last-level caches with usable CPUs",
            Self::SameSocket => "no socket has two nodes",
            Self::OtherSocket => "there is one usable socket",
            Self::FarSocket => "the firmware rates no socket farther than the nearest other one",
            Self::MemoryOnly => "every usable node with memory has CPUs",
        }
    }
}

impl fmt::Display for DistanceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How far apart the nodes of a machine are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distances {
    /// The nodes, in the order of the rows and columns.
    pub nodes: Vec<NodeId>,
    /// The firmware's relative distances (ACPI SLIT), 10 = local.
    pub firmware: Known<Vec<Vec<u32>>>,
    /// The firmware's latency and bandwidth tables (ACPI HMAT).
    pub hmat: Known<Vec<HmatTable>>,
    /// The class from the CPUs of the row's node to the memory of the column's node.
    pub classes: Vec<Vec<Known<DistanceClass>>>,
    /// Every rung, with an example or the reason why it is absent.
    pub ladder: Vec<Rung>,
}

/// One table of the firmware's heterogeneous memory attributes. A rating, never a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HmatTable {
    /// What it rates: `access`, `read` or `write`, and `latency_ns` or `mb_per_s`.
    pub of: String,
    /// Proximity domains of the rows; on most machines the node numbers.
    pub initiators: Vec<u32>,
    /// Proximity domains of the columns.
    pub targets: Vec<u32>,
    /// The ratings; null where the firmware gives none.
    pub values: Vec<Vec<Option<u64>>>,
}

impl Distances {
    /// The firmware's distance between two nodes.
    pub fn rated(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let at = |id| self.nodes.iter().position(|&node| node == id);
        Some(self.firmware.get()?[at(from)?][at(to)?])
    }
}

/// One rung of this machine's ladder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// Which.
    pub class: DistanceClass,
    /// Two places that far apart, the first found.
    pub example: Known<RungExample>,
}

/// Two places a rung apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungExample {
    /// Two CPUs.
    Cpus(CpuId, CpuId),
    /// A CPU and a memory node.
    Memory(CpuId, NodeId),
}

impl Machine {
    /// How far CPU `b` is from CPU `a`.
    pub fn cpu_distance(&self, a: CpuId, b: CpuId) -> Known<DistanceClass> {
        let (Some(a), Some(b)) = (self.cpu(a), self.cpu(b)) else {
            return Known::missing(Code::NotApplicable, "there is no such CPU");
        };
        if a.id == b.id {
            return Known::Is(DistanceClass::SameCpu);
        }
        let (Known::Is(from), Known::Is(to)) = (&a.socket, &b.socket) else {
            return Known::missing(Code::OffLine, "the kernel gives no socket for an off-line CPU");
        };
        Known::Is(if from != to {
            self.socket_distance(*from, *to)
        } else if a.siblings.contains(b.id) {
            DistanceClass::Sibling
        } else if a.node.get() != b.node.get() {
            DistanceClass::SameSocket
        } else if self.share_last_cache(a, b) {
            DistanceClass::SameL3
        } else {
            DistanceClass::SameNode
        })
    }

    /// How far the memory of `node` is from `cpu`. The nearest it can be is `same-node`.
    pub fn memory_distance(&self, cpu: CpuId, node: NodeId) -> Known<DistanceClass> {
        let (Some(cpu), Some(node)) = (self.cpu(cpu), self.node(node)) else {
            return Known::missing(Code::NotApplicable, "there is no such CPU or node");
        };
        if !node.has_memory() {
            return Known::missing(Code::NotApplicable, "the node has no memory");
        }
        if node.avoided == Some(Avoided::SharedCpus) {
            return Known::missing(
                Code::NotApplicable,
                "other nodes claim its CPUs, too: who is near is unknown",
            );
        }
        if node.cpus.contains(cpu.id) {
            return Known::Is(DistanceClass::SameNode);
        }
        if node.is_memory_only() {
            return Known::Is(DistanceClass::MemoryOnly);
        }
        let there = node.cpus.iter().find_map(|id| self.cpu(id)?.socket.get());
        let (Known::Is(here), Some(there)) = (&cpu.socket, there) else {
            return Known::missing(Code::OffLine, "the kernel gives no socket for an off-line CPU");
        };
        Known::Is(if here == there {
            DistanceClass::SameSocket
        } else {
            self.socket_distance(*here, *there)
        })
    }

    /// Fills in `distances.classes` and `distances.ladder` from the rest of the description.
    pub fn measure_ladder(&mut self) {
        let ids = self.distances.nodes.clone();
        let class = |row: &NodeId, column: &NodeId| {
            let cpu = self.node(*row).and_then(|node| node.cpus.first());
            cpu.map_or(Known::missing(Code::NotApplicable, "the row's node has no CPU"), |c| {
                self.memory_distance(c, *column)
            })
        };
        let classes =
            ids.iter().map(|row| ids.iter().map(|column| class(row, column)).collect()).collect();
        let ladder = self.ladder();
        self.distances.classes = classes;
        self.distances.ladder = ladder;
    }

    /// Every rung with its first example among the usable CPUs and nodes.
    fn ladder(&self) -> Vec<Rung> {
        let mut found = BTreeMap::new();
        for a in self.representatives() {
            for b in self.limits.cpus.iter() {
                if let Known::Is(class) = self.cpu_distance(a, b) {
                    found.entry(class).or_insert(RungExample::Cpus(a, b));
                }
            }
        }
        let memory_only = self.nodes_with_memory().find(|node| node.is_memory_only());
        if let (Some(node), Some(cpu)) = (memory_only, self.limits.cpus.first()) {
            found.insert(DistanceClass::MemoryOnly, RungExample::Memory(cpu, node.id));
        }
        DistanceClass::ALL
            .into_iter()
            .map(|class| Rung {
                class,
                example: found
                    .get(&class)
                    .map_or(Known::missing(Code::NotApplicable, class.why_absent()), |&example| {
                        Known::Is(example)
                    }),
            })
            .collect()
    }

    /// One usable CPU for each surrounding (socket, node, last-level cache, usable siblings): CPUs
    /// of one surrounding see the same ladder, and a machine has thousands of pairs but few of
    /// these.
    fn representatives(&self) -> Vec<CpuId> {
        let mut seen = BTreeSet::new();
        let surrounding = |id: &CpuId| {
            let cpu = self.cpu(*id)?;
            Some((
                cpu.socket.get().copied(),
                cpu.node.get().copied(),
                self.last_cache_of(*id).and_then(|cache| cache.cpus.first()),
                cpu.siblings.intersection(&self.limits.cpus).len(),
            ))
        };
        self.limits.cpus.iter().filter(|id| seen.insert(surrounding(id))).collect()
    }

    fn share_last_cache(&self, a: &Cpu, b: &Cpu) -> bool {
        match self.last_cache_of(a.id) {
            Some(cache) => cache.cpus.contains(b.id),
            // Without a word about caches, cores of one node are taken to be alike.
            None => true,
        }
    }

    /// One hop or more, by the firmware's table: far is what is farther than the nearest other.
    fn socket_distance(&self, from: u32, to: u32) -> DistanceClass {
        let others = self.sockets.iter().filter(|socket| socket.id != from);
        // A socket on the same node is no hop away, and says nothing about hops.
        let rated = |socket: u32| self.rated(from, socket).filter(|&rated| rated > LOCAL);
        let nearest = others.filter_map(|socket| rated(socket.id)).min();
        match (rated(to), nearest) {
            (Some(rated), Some(nearest)) if rated > nearest => DistanceClass::FarSocket,
            _ => DistanceClass::OtherSocket,
        }
    }

    /// The smallest firmware distance between the nodes of two sockets.
    fn rated(&self, from: u32, to: u32) -> Option<u32> {
        let nodes_of = |socket: u32| {
            let cpus = self.sockets.iter().find(|s| s.id == socket).map(|s| &s.cpus);
            self.nodes.iter().filter(move |n| cpus.is_some_and(|cpus| cpus.intersects(&n.cpus)))
        };
        nodes_of(from)
            .flat_map(|a| nodes_of(to).filter_map(|b| self.distances.rated(a.id, b.id)))
            .min()
    }
}
