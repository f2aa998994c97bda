//! Classes of distance, and what a machine's firmware says of the distances between its nodes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{CpuId, NodeId};
use crate::known::Known;

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

    pub(crate) const fn why_absent(self) -> &'static str {
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
    pub fn rated(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let at = |id| self.nodes.iter().position(|&node| node == id);
        Some(self.firmware.get()?[at(from)?][at(to)?])
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    pub class: DistanceClass,
    /// Two places that far apart, the first found.
    pub example: Known<RungExample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungExample {
    Cpus(CpuId, CpuId),
    Memory(CpuId, NodeId),
}
