//! The machine model, read from a [`Root`].
//!
//! Method: the kernel's files below `/sys/devices/system` and `/proc`, back to kernels of 2006;
//! each missing attribute keeps its reason. Limits: in a guest, all of it is what the hypervisor
//! reports.

mod caches;
mod cpus;
mod devices;
mod hmat;
mod limits;
mod nodes;
mod virtualization;

use std::path::PathBuf;

use hopcost_core::{Code, CpuSet, Distances, Known, Limit, Machine, NodeId};

use crate::root::Root;

pub use nodes::{machine_memory, used_and_free};

pub const MACHINE_VERSION: u32 = 1;

pub fn read(root: &Root) -> Machine {
    let mut notes = Vec::new();
    let online = cpus::online(root);
    let limits = limits::read(root, &online, &mut notes);
    let (sockets, cpus) = cpus::read(root, &online, &limits.cpus, &mut notes);
    let nodes = nodes::read(root, &online, &limits.nodes, &mut notes);
    let cpus = nodes::settle(cpus, &nodes);
    let mut machine = Machine {
        version: MACHINE_VERSION,
        host: root.text("proc/sys/kernel/hostname").and_then(|name| match name.as_str() {
            "" | "(none)" => Known::missing(Code::NotTold, "the host has no name"),
            _ => Known::Is(name),
        }),
        kernel: root.text("proc/sys/kernel/osrelease"),
        processor: cpus::processor(root),
        page_bytes: page_bytes(root),
        sockets,
        caches: caches::read(root, &cpus),
        distances: Distances {
            nodes: nodes.iter().map(|node| node.id).collect(),
            firmware: nodes::firmware_distances(root, &nodes),
            hmat: hmat::read(root),
            classes: Vec::new(),
            ladder: Vec::new(),
        },
        cpus,
        nodes,
        limits,
        virtualization: virtualization::read(root),
        devices: devices::read(root),
        notes,
    };
    machine.measure_ladder();
    machine
}

/// As bounded by our control group, too.
pub fn available_bytes(node: NodeId) -> Known<u64> {
    let root = Root::live();
    let limits = limits::read(&root, &CpuSet::new(), &mut Vec::new());
    let nodes = nodes::read(&root, &CpuSet::new(), &limits.nodes, &mut Vec::new());
    let on_node = nodes.into_iter().find(|n| n.id == node).map(|n| n.available_bytes);
    let on_node = on_node
        .unwrap_or_else(|| Known::missing(Code::NotApplicable, format!("there is no node {node}")));
    let granted = limits.memory_bytes.ok().and_then(Limit::at);
    on_node.map(|bytes| match (granted, limits.memory_used_bytes.ok()) {
        (Some(granted), Some(used)) => bytes.min(granted.saturating_sub(used)),
        _ => bytes,
    })
}

pub fn free_huge_pages(node: NodeId, page_bytes: u64) -> u64 {
    let dir = huge_page_dir(node, page_bytes);
    Root::live().number(&format!("{dir}/free_hugepages")).ok().unwrap_or(0)
}

pub fn huge_page_pool(node: NodeId, page_bytes: u64) -> PathBuf {
    PathBuf::from(format!("/{}/nr_hugepages", huge_page_dir(node, page_bytes)))
}

fn huge_page_dir(node: NodeId, page_bytes: u64) -> String {
    format!("sys/devices/system/node/node{node}/hugepages/hugepages-{}kB", page_bytes >> 10)
}

fn page_bytes(root: &Root) -> u64 {
    let live = || {
        // SAFETY: sysconf reads a constant of the system; it takes no pointer.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Known::Is(bytes.to_string())
    };
    let bytes = root.fact("page-bytes", live).ok().and_then(|text| text.parse().ok());
    bytes.filter(|bytes: &u64| bytes.is_power_of_two() && *bytes <= 1 << 30).unwrap_or(4096)
}
