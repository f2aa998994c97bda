//! **memory_by_node**: used and free memory of each node, from its `meminfo`.
//!
//! Used includes the page cache. Guests whose memory grew after boot may count only a part of it.

use hopcost_core::{Known, NodeId, Reading, gauge};
use hopcost_sys::{Root, topology};

use super::reading::{KernelObserver, some, watch_nodes};

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "memory_by_node",
    about: "memory of each node that is used, and memory that is free",
    open: |scope| watch_nodes(scope, read),
};

fn read(root: &Root, nodes: &[NodeId]) -> Known<Vec<Reading>> {
    let of_node = |node: &NodeId| {
        let (used, free) = topology::used_and_free(root, *node).ok()?;
        let level =
            |gauge, bytes: u64| Reading { gauge, of: format!("node {node}"), value: bytes as f64 };
        Some([level(gauge::MEMORY_USED_BYTES, used), level(gauge::MEMORY_FREE_BYTES, free)])
    };
    some(
        nodes.iter().filter_map(of_node).flatten().collect(),
        "the kernel keeps no account of memory by node (built without NUMA?)",
    )
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said};
    use super::*;

    #[test]
    fn each_node_has_its_account() {
        let text = "Node 1 MemTotal: 100 kB\nNode 1 MemFree: 60 kB\nNode 1 MemUsed: 40 kB";
        let root = root(&[("sys/devices/system/node/node1/meminfo", text)]);
        let expected = ["memory_used_bytes node 1: 40960", "memory_free_bytes node 1: 61440"];
        assert_eq!(said(&read(&root, &[NodeId(0), NodeId(1)])), expected);
    }

    #[test]
    fn a_kernel_without_nodes_is_refused_in_words() {
        let read = read(&root(&[]), &[NodeId(0)]);
        assert!(read.reason().unwrap().as_str().contains("by node"));
    }
}
