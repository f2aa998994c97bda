//! Check: do all nodes with CPUs have equally much memory?

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "memory-balance",
    why: "a node with less memory has fewer or smaller modules, so less bandwidth, and fills up first",
    look,
};

/// Firmware and the kernel reserve unequal parts; a real imbalance is a factor of two.
const EVEN_WITHIN: f64 = 0.10;

fn look(at: &Surroundings<'_>) -> Seen {
    let nodes: Vec<(u64, String)> = at
        .machine
        .nodes
        .iter()
        .filter(|node| !node.cpus.is_empty())
        .filter_map(|node| {
            let bytes = *node.total_bytes.get()?;
            Some((
                bytes,
                format!("node {} has {:.1} GiB", node.id, bytes as f64 / f64::from(1 << 30)),
            ))
        })
        .collect();
    let (Some(least), Some(most)) = (nodes.iter().min(), nodes.iter().max()) else {
        return Seen::note("the nodes' memory is unknown");
    };
    if least.0 as f64 >= most.0 as f64 * (1.0 - EVEN_WITHIN) {
        return Seen::good("all nodes with CPUs have the same");
    }
    let fix = Fix::without_undo(
        "look for a missing, disabled or smaller module: dmidecode -t memory",
        "it only reads",
    );
    Seen::warning(format!("{}, {}", least.1, most.1), fix)
}
