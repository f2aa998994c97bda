//! Check: does a cpuset close part of the machine to us?

use hopcost_core::{CpuSet, NodeSet};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "cpuset",
    why: "CPUs and memory outside the cpuset or the affinity mask cannot be used or measured",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let machine = at.machine;
    let online: CpuSet = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let nodes: NodeSet =
        machine.nodes.iter().filter(|node| node.has_memory()).map(|n| n.id).collect();
    let (cpus, nodes) =
        (online.difference(&machine.limits.cpus), nodes.difference(&machine.limits.nodes));
    let mut closed = Vec::new();
    if !cpus.is_empty() {
        closed.push(format!("CPU {cpus}"));
    }
    if !nodes.is_empty() {
        closed.push(format!("the memory of node {nodes}"));
    }
    if closed.is_empty() {
        return Seen::good("all CPUs and all memory are allowed");
    }
    let fix =
        Fix::without_undo("run hopcost outside this container or cpuset", "nothing is changed");
    Seen::fixable(format!("{} not allowed", closed.join(" and ")), fix)
}
