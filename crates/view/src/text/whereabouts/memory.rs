//! Memory by node: sums, shares, largest nodes.

use hopcost_core::{BytesByNode, Known, NodeId, NodeSet, Standing};

/// `node 0`, `nodes 0 and 1`, `nodes 0-7`
pub fn of_nodes(nodes: &NodeSet) -> String {
    match nodes.len() {
        0 => "no node that is known".to_owned(),
        1 => format!("node {nodes}"),
        2 => format!("nodes {}", nodes.to_string().replace([',', '-'], " and ")),
        _ => format!("nodes {nodes}"),
    }
}

/// Without empty nodes, largest first.
pub fn largest(by_node: &BytesByNode) -> Vec<(NodeId, u64)> {
    let held = by_node.iter().filter(|(_, bytes)| **bytes > 0);
    let mut parts: Vec<(NodeId, u64)> = held.map(|(node, bytes)| (*node, *bytes)).collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    parts
}

/// Only nothing is 0, and only all is 100.
pub fn percent(part: u64, all: u64) -> u64 {
    let rounded = (100.0 * part as f64 / all as f64).round() as u64;
    match part {
        0 => 0,
        part if part == all => 100,
        _ => rounded.clamp(1, 99),
    }
}

/// Sum of private memory; missing if that of any process is.
pub fn private(processes: &[Standing]) -> Known<BytesByNode> {
    let mut sum = BytesByNode::new();
    for process in processes {
        match &process.private_by_node {
            Known::Is(own) => add(&mut sum, own),
            Known::Missing(reason) => return Known::Missing(reason.clone()),
        }
    }
    Known::Is(sum)
}

pub fn add(sum: &mut BytesByNode, more: &BytesByNode) {
    for (node, bytes) in more {
        *sum.entry(*node).or_default() += bytes;
    }
}
