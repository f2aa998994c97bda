//! Check: can a database be placed by the memory nodes?

use hopcost_core::{Avoided, CpuSet, NodeSet};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "nodes",
    why: "if several nodes claim a CPU, its local memory is unknown; a GPU's memory is for the GPU",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let of = |why: Avoided| -> NodeSet {
        let nodes = at.machine.nodes.iter().filter(|node| node.avoided == Some(why));
        nodes.map(|node| node.id).collect()
    };
    let (shared, gpu) = (of(Avoided::SharedCpus), of(Avoided::GpuMemory));
    if !shared.is_empty() {
        let claimed = at.machine.nodes.iter().filter(|node| shared.contains(node.id));
        let cpus = claimed.fold(CpuSet::new(), |all, node| all.union(&node.cpus));
        return Seen::warning(
            format!("nodes {shared} claim CPUs of each other, of CPU {cpus}: a firmware error"),
            Fix::without_undo(
                "update the firmware: its SRAT table is wrong",
                "until then hopcost places nothing on these nodes, unless --nodes names them",
            ),
        );
    }
    if !gpu.is_empty() {
        return Seen::note(format!(
            "the memory of node {gpu} is a GPU's: nothing is placed there, unless --nodes names it"
        ));
    }
    Seen::good("each CPU is on one")
}
