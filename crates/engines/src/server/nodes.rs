//! Nodes by their CPUs, and counts of where threads were seen.

use std::collections::BTreeMap;

use hopcost_core::{CpuId, CpuSet, Machine, NodeId, Reading, gauge};

pub type Looks = BTreeMap<CpuId, u64>;

#[derive(Clone, Debug, Default)]
pub struct Nodes(pub Vec<(NodeId, CpuSet)>);

impl Nodes {
    pub fn of(machine: &Machine) -> Self {
        let usable = |cpus: &CpuSet| cpus.intersection(&machine.limits.cpus);
        Self(machine.nodes.iter().map(|node| (node.id, usable(&node.cpus))).collect())
    }

    pub fn all(&self) -> CpuSet {
        self.0.iter().flat_map(|(_, cpus)| cpus.iter()).collect()
    }

    pub fn cpus_of(&self, node: NodeId) -> Option<CpuSet> {
        self.0.iter().find(|(id, _)| *id == node).map(|(_, cpus)| cpus.clone())
    }

    /// How often parallel workers were seen on each node and CPU; `leader` is their session's node.
    pub fn told(&self, leader: Option<NodeId>, looks: &Looks) -> Vec<Reading> {
        let beside = leader.map_or_else(String::new, |node| format!(", leader on node {node}"));
        let reading = |of: String, cpus: &CpuSet| Reading {
            gauge: gauge::PARALLEL_WORKER_SAMPLES,
            of: format!("{of}{beside}"),
            value: within(looks, cpus) as f64,
        };
        let of_nodes = self.0.iter().map(|(id, cpus)| reading(format!("node {id}"), cpus));
        let all = self.all();
        let of_cpus =
            all.iter().map(|cpu| reading(format!("cpu {cpu}"), &CpuSet::from_iter([cpu])));
        of_nodes.chain(of_cpus).collect()
    }
}

pub fn within(looks: &Looks, cpus: &CpuSet) -> u64 {
    looks.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, looks)| looks).sum()
}
