//! Memory nodes, from `/sys/devices/system/node`.

use std::collections::BTreeMap;

use hopcost_core::{
    Avoided, Code, Cpu, CpuSet, HugePool, Known, MemoryCache, Node, NodeId, NodeSet, Rating,
};

use crate::root::Root;
use crate::text::{bytes_of_kib, field};

const NODES: &str = "sys/devices/system/node";
const GPUS: &str = "proc/driver/nvidia/gpus";

/// On-line nodes. A kernel without NUMA gets one node.
pub fn read(
    root: &Root,
    online_cpus: &CpuSet,
    usable: &NodeSet,
    notes: &mut Vec<String>,
) -> Vec<Node> {
    let ids: Vec<NodeId> = root.ids(NODES, "node").ok().unwrap_or_default();
    if ids.is_empty() {
        notes.push("the kernel knows no memory nodes: all memory is taken as node 0".into());
        return vec![only_node(root, online_cpus)];
    }
    let tiers = tiers(root);
    let gpus = gpu_nodes(root);
    let read = |node: NodeId| {
        let dir = format!("{NODES}/node{node}");
        let meminfo = root.text(&format!("{dir}/meminfo"));
        let cpus = root.cpus(&format!("{dir}/cpulist"), &format!("{dir}/cpumap"));
        Node {
            id: node,
            usable: usable.contains(node),
            cpus: cpus.ok().unwrap_or_default().intersection(online_cpus),
            total_bytes: from_meminfo(&meminfo, "MemTotal"),
            free_bytes: from_meminfo(&meminfo, "MemFree"),
            available_bytes: available(&meminfo),
            huge_pages: huge_pools(root, &format!("{dir}/hugepages")),
            access0: rating(root, &format!("{dir}/access0/initiators")),
            access1: rating(root, &format!("{dir}/access1/initiators")),
            tier: Known::found(
                tiers.get(&node).copied(),
                Code::NotTold,
                || "the kernel puts this node in no memory tier",
            ),
            memory_caches: memory_caches(root, &format!("{dir}/memory_side_cache")),
            avoided: gpus.contains(node).then_some(Avoided::GpuMemory),
        }
    };
    let mut nodes: Vec<Node> = ids.into_iter().map(read).collect();
    notes.extend(avoid_shared_cpus(&mut nodes));
    notes.extend((!gpus.is_empty()).then(|| {
        format!(
            "the memory of node {gpus} is a GPU's: nothing is placed there unless --nodes names it"
        )
    }));
    reconcile(root, &mut nodes, notes);
    nodes
}

/// Nodes that NVIDIA's driver brings on-line (POWER9, Grace).
fn gpu_nodes(root: &Root) -> NodeSet {
    let gpus = root.names(GPUS).ok().unwrap_or_default();
    let node = |gpu: &String| -> Option<NodeId> {
        let status = root.text(&format!("{GPUS}/{gpu}/numa_status")).ok()?;
        // -1 if it has none.
        field(&status, "Node")?.parse().ok().map(NodeId)
    };
    gpus.iter().filter_map(node).collect()
}

/// A CPU belongs to one node. If several claim it, the firmware errs, and none is believed. Returns
/// a note then.
fn avoid_shared_cpus(nodes: &mut [Node]) -> Option<String> {
    let (mut seen, mut shared) = (CpuSet::new(), CpuSet::new());
    for node in nodes.iter() {
        shared = shared.union(&seen.intersection(&node.cpus));
        seen = seen.union(&node.cpus);
    }
    let mut claimants = NodeSet::new();
    for node in nodes.iter_mut().filter(|node| node.cpus.intersects(&shared)) {
        claimants.insert(node.id);
        node.avoided = Some(Avoided::SharedCpus);
    }
    (!shared.is_empty()).then(|| {
        format!(
            "the firmware errs: nodes {claimants} claim CPU {shared} each; nothing is placed by them unless \
             --nodes names them"
        )
    })
}

/// Some guests whose memory grew after boot count a fraction of it on the node. If there is one
/// node, all the machine's memory is there.
fn reconcile(root: &Root, nodes: &mut [Node], notes: &mut Vec<String>) {
    let meminfo = root.text("proc/meminfo");
    let machine = |key| from_meminfo(&meminfo, key);
    let Known::Is(total) = machine("MemTotal") else { return };
    let totals = nodes.iter().filter_map(|node| node.total_bytes.get().copied());
    let sum = totals.fold(0, u64::saturating_add);
    if sum.abs_diff(total) <= total / 20 {
        return;
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let mut note = format!(
        "the nodes' own accounts add up to {:.1} GiB, the machine's to {:.1} GiB",
        gib(sum),
        gib(total)
    );
    if let [only] = nodes {
        only.total_bytes = Known::Is(total);
        only.free_bytes = machine("MemFree");
        only.available_bytes = machine("MemAvailable").or_else(|_| machine("MemFree"));
        note.push_str("; the machine's is taken, since there is one node");
    }
    notes.push(note);
}

pub fn settle(mut cpus: Vec<Cpu>, nodes: &[Node]) -> Vec<Cpu> {
    for cpu in &mut cpus {
        if let Some(node) = nodes.iter().find(|node| node.cpus.contains(cpu.id)) {
            cpu.node = match node.avoided {
                Some(Avoided::SharedCpus) => {
                    Known::missing(Code::NotApplicable, "several nodes claim the CPU")
                }
                _ => Known::Is(node.id),
            };
        } else if !cpu.online {
            cpu.node = Known::missing(Code::OffLine, "the CPU is off-line");
        }
    }
    cpus
}

/// A row per node, in the order of `nodes`.
pub fn firmware_distances(root: &Root, nodes: &[Node]) -> Known<Vec<Vec<u32>>> {
    let mut rows = Vec::new();
    for node in nodes {
        let path = format!("{NODES}/node{}/distance", node.id);
        let row = match root.text(&path) {
            Known::Is(row) => row,
            Known::Missing(reason) => return Known::Missing(reason),
        };
        let row: Vec<u32> = row.split_whitespace().filter_map(|d| d.parse().ok()).collect();
        if row.len() != nodes.len() {
            return Known::missing(
                Code::Malformed,
                format!("/{path} rates {} nodes of {}", row.len(), nodes.len()),
            );
        }
        rows.push(row);
    }
    Known::Is(rows)
}

fn only_node(root: &Root, online_cpus: &CpuSet) -> Node {
    let meminfo = root.text("proc/meminfo");
    let none = || Known::missing(Code::NotTold, "the kernel knows no memory nodes");
    Node {
        id: NodeId(0),
        usable: true,
        cpus: online_cpus.clone(),
        total_bytes: from_meminfo(&meminfo, "MemTotal"),
        free_bytes: from_meminfo(&meminfo, "MemFree"),
        available_bytes: from_meminfo(&meminfo, "MemAvailable"),
        huge_pages: huge_pools(root, "sys/kernel/mm/hugepages"),
        access0: none(),
        access1: none(),
        tier: Known::missing(Code::NotTold, "the kernel knows no memory nodes"),
        memory_caches: Vec::new(),
        avoided: None,
    }
}

/// In bytes, by the node's own count.
pub fn used_and_free(root: &Root, node: NodeId) -> Known<(u64, u64)> {
    let meminfo = root.text(&format!("{NODES}/node{node}/meminfo"));
    from_meminfo(&meminfo, "MemUsed")
        .and_then(|used| from_meminfo(&meminfo, "MemFree").map(|free| (used, free)))
}

/// A line such as `MemAvailable`, in bytes.
pub fn machine_memory(root: &Root, key: &str) -> Known<u64> {
    from_meminfo(&root.text("proc/meminfo"), key)
}

/// A line of a node's meminfo, `Node 0 MemFree:  123 kB`, or of the machine's, without the prefix.
fn from_meminfo(meminfo: &Known<String>, key: &str) -> Known<u64> {
    meminfo.as_ref().and_then(|text| {
        let line = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.split_whitespace().last() == Some(key)).then_some(value)
        });
        Known::found(line.and_then(bytes_of_kib), Code::NotTold, || {
            format!("meminfo gives no {key}")
        })
    })
}

/// Free memory and half of the page cache: `MemAvailable` exists for the whole machine only.
fn available(meminfo: &Known<String>) -> Known<u64> {
    let line = |key| from_meminfo(meminfo, key);
    let cache = line("FilePages").ok().unwrap_or(0).saturating_sub(line("Shmem").ok().unwrap_or(0));
    line("MemFree").map(|free| free + cache / 2)
}

fn huge_pools(root: &Root, dir: &str) -> Vec<HugePool> {
    let pool = |name: &String| {
        Some(HugePool {
            page_bytes: bytes_of_kib(name.strip_prefix("hugepages-")?.strip_suffix("kB")?)?,
            total: root.number(&format!("{dir}/{name}/nr_hugepages")).ok()?,
            free: root.number(&format!("{dir}/{name}/free_hugepages")).ok()?,
        })
    };
    let mut pools: Vec<HugePool> =
        root.names(dir).ok().unwrap_or_default().iter().filter_map(pool).collect();
    pools.sort_by_key(|pool| pool.page_bytes);
    pools
}

fn rating(root: &Root, dir: &str) -> Known<Rating> {
    let figure = |file: &str| {
        root.number::<u32>(&format!("{dir}/{file}")).and_then(|number| match number {
            0 => Known::missing(Code::Malformed, "the firmware gives 0"),
            _ => Known::Is(number),
        })
    };
    root.ids(dir, "node").map(|nodes: Vec<NodeId>| Rating {
        initiators: nodes.into_iter().collect(),
        read_latency_ns: figure("read_latency"),
        write_latency_ns: figure("write_latency"),
        read_mb_per_s: figure("read_bandwidth"),
        write_mb_per_s: figure("write_bandwidth"),
    })
}

fn tiers(root: &Root) -> BTreeMap<NodeId, u32> {
    let dir = "sys/devices/virtual/memory_tiering";
    let mut tiers = BTreeMap::new();
    for tier in root.numbered(dir, "memory_tier").ok().unwrap_or_default() {
        let nodes = root.list_of::<NodeId>(&format!("{dir}/memory_tier{tier}/nodelist"));
        tiers.extend(nodes.ok().unwrap_or_default().iter().map(|node| (node, tier)));
    }
    tiers
}

fn memory_caches(root: &Root, dir: &str) -> Vec<MemoryCache> {
    let levels = root.numbered(dir, "index").ok().unwrap_or_default();
    let cache = |level| {
        let bytes = root.number(&format!("{dir}/index{level}/size")).ok()?;
        Some(MemoryCache { level, bytes })
    };
    levels.into_iter().filter_map(cache).collect()
}
