//! A machine with distances that it has not: virtual nodes over the CPUs that exist.
//!
//! It checks the method: what was planted is counted, and has to be found. It says nothing of the
//! machine, and whatever comes of it is marked.

use serde::{Deserialize, Serialize};

use crate::distance::Distances;
use crate::ids::{CpuSet, NodeId, NodeSet};
use crate::known::{Known, Reason};
use crate::machine::{Machine, Node, Socket};

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Emulation {
    /// How many nodes there seem to be.
    pub nodes: u32,
    /// What each acquisition of a page of another node takes longer.
    pub remote_ns: f64,
    /// A share of the calls to another node's data takes longer.
    pub bimodal: Option<Bimodal>,
    /// The memory of one node gives fewer bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<LessBandwidth>,
}

/// The memory of a node gives fewer bytes to those who stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessBandwidth {
    /// Which.
    pub node: NodeId,
    /// The share that is left, above 0 to 1.
    pub share: f64,
}

/// The machine under an emulated one.
#[derive(Clone, Copy, Debug)]
pub struct Planted<'a> {
    /// As it is.
    pub ground: &'a Machine,
    /// What is planted on it.
    pub emulation: Emulation,
}

/// A share of calls takes a multiple of their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bimodal {
    /// Which share, 0 to 1.
    pub share: f64,
    /// How many times as long, 1 or more.
    pub times: f64,
}

const EMULATED: &str = "the node is emulated";

impl Machine {
    /// The node of this machine that a node of `emulated` is in truth: a set of its CPUs.
    pub fn node_under(&self, emulated: &Self, node: NodeId) -> NodeId {
        let cpu = emulated.node(node).and_then(|node| node.cpus.first());
        let real = cpu.and_then(|cpu| self.nodes.iter().find(|real| real.cpus.contains(cpu)));
        real.map_or(node, |real| real.id)
    }

    /// This machine as if its usable CPUs stood on so many nodes, each a socket of its own.
    pub fn emulated(&self, nodes: u32) -> Result<Self, Reason> {
        let usable = self.limits.cpus.len();
        if nodes == 0 || nodes as usize > usable {
            return Err(format!("{usable} usable CPUs cannot be {nodes} nodes").into());
        }
        let mut machine = self.clone();
        machine.nodes.clear();
        machine.sockets.clear();
        machine.caches.retain(|cache| cache.level <= 2);
        machine.devices.clear();
        for node in 0..nodes {
            let cpus = share_of(&self.limits.cpus, node as usize, nodes as usize);
            for cpu in machine.cpus.iter_mut().filter(|cpu| cpus.contains(cpu.id)) {
                cpu.node = Known::Is(NodeId(node));
                cpu.socket = Known::Is(node);
                cpu.siblings = CpuSet::from_iter([cpu.id]);
            }
            machine.sockets.push(Socket { id: node, cpus: cpus.clone() });
            machine.nodes.push(self.virtual_node(node, nodes, cpus));
        }
        let ids: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        machine.limits.nodes = ids.iter().copied().collect::<NodeSet>();
        machine.distances = Distances {
            nodes: ids,
            firmware: Known::missing(EMULATED),
            hmat: Known::missing(EMULATED),
            classes: Vec::new(),
            ladder: Vec::new(),
        };
        machine.measure_ladder();
        Ok(machine)
    }

    fn virtual_node(&self, number: u32, of: u32, cpus: CpuSet) -> Node {
        let share = |bytes: fn(&Node) -> &Known<u64>| {
            let all = self.nodes.iter().filter_map(|node| bytes(node).get());
            Known::Is(all.sum::<u64>() / u64::from(of))
        };
        Node {
            id: NodeId(number),
            usable: true,
            cpus,
            total_bytes: share(|node| &node.total_bytes),
            free_bytes: share(|node| &node.free_bytes),
            available_bytes: share(|node| &node.available_bytes),
            huge_pages: Vec::new(),
            access0: Known::missing(EMULATED),
            access1: Known::missing(EMULATED),
            tier: Known::missing(EMULATED),
            memory_caches: Vec::new(),
        }
    }
}

/// The n-th of so many equal parts of a set, in the order of the numbers.
fn share_of(cpus: &CpuSet, n: usize, of: usize) -> CpuSet {
    let (from, to) = (cpus.len() * n / of, cpus.len() * (n + 1) / of);
    cpus.iter().skip(from).take(to - from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_set_are_equal_and_complete() {
        let cpus = CpuSet::parse_list("0,2,4,6,8").unwrap();
        let parts: Vec<String> = (0..2).map(|n| share_of(&cpus, n, 2).to_string()).collect();
        assert_eq!(parts, ["0,2", "4,6,8"]);
    }
}
