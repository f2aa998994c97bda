//! Distance classes, and the distances between nodes that the firmware reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{CpuId, NodeId};
use crate::known::Known;

/// Ordered nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DistanceClass {
    SameCpu,
    Sibling,
    /// Another core with the same last-level cache, on the same node.
    SameL3,
    SameNode,
    /// Another memory node of the same socket.
    SameSocket,
    /// Another socket, one hop away or of unknown distance.
    OtherSocket,
    /// A socket that the firmware rates farther than the nearest other one.
    FarSocket,
    MemoryOnly,
}

impl DistanceClass {
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

    pub const fn why_absent(self) -> &'static str {
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

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distances {
    pub nodes: Vec<NodeId>,
    /// ACPI SLIT: relative distances, 10 = local.
    pub firmware: Known<Vec<Vec<u32>>>,
    /// ACPI HMAT: latencies and bandwidths.
    pub hmat: Known<Vec<HmatTable>>,
    /// From the row's CPUs to the column's memory.
    pub classes: Vec<Vec<Known<DistanceClass>>>,
    pub ladder: Vec<Rung>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HmatTable {
    /// `access`, `read` or `write`, followed by `_latency_ns` or `_mb_per_s`.
    pub of: String,
    /// Proximity domains of the rows; on most machines the node numbers.
    pub initiators: Vec<u32>,
    pub targets: Vec<u32>,
    /// `None` if the firmware gives no rating.
    pub values: Vec<Vec<Option<u64>>>,
}

impl Distances {
    pub fn rated(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let at = |id| self.nodes.iter().position(|&node| node == id);
        Some(self.firmware.get()?[at(from)?][at(to)?])
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    pub class: DistanceClass,
    pub example: Known<RungExample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungExample {
    Cpus(CpuId, CpuId),
    Memory(CpuId, NodeId),
}
