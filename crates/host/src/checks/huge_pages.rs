//! Check: are huge pages reserved, and evenly across nodes?

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "huge-pages",
    why: "a database gets reserved huge pages on the nodes that have them, whatever its placement says",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let nodes: Vec<_> = at.machine.nodes_with_memory().collect();
    let mut told = Vec::new();
    let (mut even_out, mut restore) = (Vec::new(), Vec::new());
    let mut sizes: Vec<u64> =
        nodes.iter().flat_map(|n| n.huge_pages.iter().map(|p| p.page_bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let free_of = |node: &&hopcost_core::Node| {
            node.huge_pages
                .iter()
                .find(|pool| pool.page_bytes == size)
                .map_or((0, 0), |p| (p.total, p.free))
        };
        let pools: Vec<(u64, u64)> = nodes.iter().map(free_of).collect();
        if pools.iter().all(|(total, _)| *total == 0) {
            continue;
        }
        let (low, high) = (pools.iter().map(|p| p.0).min(), pools.iter().map(|p| p.0).max());
        if low != high {
            let share = pools.iter().map(|(total, _)| total).sum::<u64>() / pools.len() as u64;
            for (node, (total, _)) in nodes.iter().zip(&pools) {
                even_out.push(reserve(share, node, size));
                restore.push(reserve(*total, node, size));
            }
        }
        let by_node: Vec<String> = nodes
            .iter()
            .zip(&pools)
            .map(|(node, (total, free))| format!("node {}: {free} of {total} free", node.id))
            .collect();
        told.push(format!("{} KiB pages: {}", size >> 10, by_node.join(", ")));
    }
    if told.is_empty() {
        return Seen::good("none reserved; transparent ones are used");
    }
    if !even_out.is_empty() {
        let fix = Fix::new(even_out.join("; "), restore.join("; "));
        return Seen::warning(format!("uneven: {}", told.join("; ")), fix);
    }
    Seen::good(told.join("; "))
}

fn reserve(pages: u64, node: &hopcost_core::Node, page_bytes: u64) -> String {
    let (id, kib) = (node.id, page_bytes >> 10);
    format!(
        "echo {pages} > /sys/devices/system/node/node{id}/hugepages/hugepages-{kib}kB/nr_hugepages"
    )
}
