//! **numastat**: from which nodes the kernel allocated pages, from the nodes' `numastat`.
//!
//! A hit is a page from the preferred node. A miss is a page meant for another node, where it
//! counts as foreign. Local and other say whether the allocating thread ran on that node. The
//! kernel updates its sums about once a second.

use hopcost_core::{Known, NodeId, Reading, gauge};
use hopcost_sys::Root;

use super::reading::{KernelObserver, ProcField, counts, some, watch_nodes};

const NODE: &[ProcField] = &[
    ("numa_hit", gauge::NUMA_HIT_PAGES),
    ("numa_miss", gauge::NUMA_MISS_PAGES),
    ("numa_foreign", gauge::NUMA_FOREIGN_PAGES),
    ("local_node", gauge::NUMA_LOCAL_PAGES),
    ("other_node", gauge::NUMA_OTHER_PAGES),
];

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "numastat",
    about: "pages that the kernel handed out, by node: as wanted or not, to local threads or others",
    open: |scope| watch_nodes(scope, read),
};

fn read(root: &Root, nodes: &[NodeId]) -> Known<Vec<Reading>> {
    let of_node = |node: &NodeId| {
        let text = root.text(&format!("sys/devices/system/node/node{node}/numastat"));
        counts(&text.ok().unwrap_or_default(), &format!("node {node}"), NODE)
    };
    some(
        nodes.iter().flat_map(of_node).collect(),
        "the kernel counts no pages by node (built without NUMA, or vm.numa_stat is 0)",
    )
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said};
    use super::*;

    #[test]
    fn each_node_is_told() {
        let text = "numa_hit 406\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 1141\n\
                    local_node 400\nother_node 7";
        let root = root(&[
            ("sys/devices/system/node/node0/numastat", text),
            ("sys/devices/system/node/node33/numastat", "numa_hit 9"),
        ]);
        let expected = [
            "numa_hit_pages node 0: 406",
            "numa_miss_pages node 0: 1",
            "numa_foreign_pages node 0: 2",
            "numa_local_pages node 0: 400",
            "numa_other_pages node 0: 7",
            "numa_hit_pages node 33: 9",
        ];
        assert_eq!(said(&read(&root, &[NodeId(0), NodeId(33)])), expected);
    }

    #[test]
    fn a_kernel_without_nodes_is_refused_in_words() {
        let reason = read(&root(&[]), &[NodeId(0)]);
        assert!(reason.reason().unwrap().as_str().contains("without NUMA"));
    }
}
