//! Distance classes between the CPUs and memory nodes of a machine.
//!
//! Classes follow from what is shared (cores, caches, nodes, sockets). Only "far" uses the
//! firmware's distance table, because nothing else tells one hop from two. A firmware distance is
//! never used as a latency.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::Code;
use crate::distances::{DistanceClass, Rung, RungExample};
use crate::ids::{CpuId, NodeId};
use crate::known::Known;
use crate::machine::{Avoided, Cpu, Machine};

/// Firmware distance of a node to itself.
const LOCAL: u32 = 10;

impl Machine {
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

    /// Never nearer than `same-node`.
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

    /// One usable CPU for each combination of socket, node, last-level cache and number of usable
    /// siblings. CPUs alike in these have the same classes, and a machine has thousands of pairs
    /// but few combinations.
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
            // Without cache information, cores of one node are assumed to share.
            None => true,
        }
    }

    /// Far if rated farther than the nearest other socket.
    fn socket_distance(&self, from: u32, to: u32) -> DistanceClass {
        let others = self.sockets.iter().filter(|socket| socket.id != from);
        // A socket on the same node is no hop away and says nothing about hops.
        let rated = |socket: u32| self.rated(from, socket).filter(|&rated| rated > LOCAL);
        let nearest = others.filter_map(|socket| rated(socket.id)).min();
        match (rated(to), nearest) {
            (Some(rated), Some(nearest)) if rated > nearest => DistanceClass::FarSocket,
            _ => DistanceClass::OtherSocket,
        }
    }

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
