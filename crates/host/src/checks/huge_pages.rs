//! Check: are huge pages reserved, and evenly across nodes?

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "huge-pages",
    why: "a database with reserved huge pages gets them where they lie, whatever its placement says",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let nodes: Vec<_> = at.machine.nodes_with_memory().collect();
    let mut told = Vec::new();
    let mut uneven = false;
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
        uneven |= low != high;
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
    if uneven {
        let remedy = "reserve per node: /sys/devices/system/node/node*/hugepages/*/nr_hugepages";
        return Seen::warning(format!("uneven: {}", told.join("; ")), remedy);
    }
    Seen::good(told.join("; "))
}
