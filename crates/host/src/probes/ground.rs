//! Shared by probes: the nodes, CPUs and memory of a site.

use hopcost_core::{
    Cell, Code, CpuId, CpuSet, DistanceClass, Known, Machine, Node, NodeId, Place, RungExample,
    Site, Unit,
};
use hopcost_sys::memory::{PlaceError, Region, Request, obstacle};

/// The nodes that can be rows: with CPUs of the site.
pub fn rows<'a>(site: &'a Site<'_>) -> Vec<&'a Node> {
    let nodes = site.machine.nodes.iter();
    nodes.filter(|node| site.nodes.contains(node.id) && row_cpu(site, node).is_some()).collect()
}

/// The nodes that can be columns: with memory that the site may use.
pub fn columns<'a>(site: &'a Site<'_>) -> Vec<&'a Node> {
    let nodes = site.machine.all_nodes_with_memory();
    nodes.filter(|node| site.nodes.contains(node.id)).collect()
}

/// The columns, each with the reason why regions of these sizes do not fit.
pub fn columns_for<'a>(site: &'a Site<'_>, regions: &[u64]) -> Vec<(&'a Node, Known<()>)> {
    let state = |node: &Node| {
        let (machine, at) = in_truth(site, node.id);
        let obstacle = obstacle(machine, at, regions, site.pages, site.may_bind);
        obstacle.map_or(Known::Is(()), |error| Known::missing(Code::Unreadable, error.to_string()))
    };
    columns(site).into_iter().map(|node| (node, state(node))).collect()
}

/// The largest amount that any column has, which limits default sizes. A control group's limit
/// applies to all columns together.
pub fn most_available(site: &Site<'_>) -> Option<u64> {
    let columns = columns(site);
    let on_a_node = columns.iter().filter_map(|node| node.available_bytes.get()).max().copied();
    let limits = &site.machine.limits;
    let granted = limits.memory_bytes.get().and_then(|limit| limit.at());
    let left = granted.map(|bytes| {
        let used = limits.memory_used_bytes.get().copied().unwrap_or(0);
        bytes.saturating_sub(used) / columns.len().max(1) as u64
    });
    on_a_node.map(|bytes| left.map_or(bytes, |left| bytes.min(left)))
}

/// Local memory. For CPUs on a node without memory that is any node without CPUs.
pub fn is_own(row: &Node, column: &Node) -> bool {
    row.id == column.id || (!row.has_memory() && column.cpus.is_empty())
}

/// The CPU that represents a node: not its first if there is another, because interrupts and other
/// work gather on the first.
pub fn row_cpu(site: &Site<'_>, node: &Node) -> Option<CpuId> {
    let cores = site.machine.one_cpu_per_core(&node.cpus.intersection(&site.cpus));
    cores.iter().nth(1).or(cores.first())
}

/// One CPU on each socket other than that of `cpu`, to keep their clocks and fabrics awake.
pub fn spinners(site: &Site<'_>, cpu: CpuId) -> Vec<CpuId> {
    let sockets = site.machine.sockets.iter().filter(|socket| !socket.cpus.contains(cpu));
    sockets.filter_map(|socket| socket.cpus.intersection(&site.cpus).first()).collect()
}

/// The memory of the CPU's own node, or the nearest by the firmware's table if it has none.
pub fn nearest_memory(site: &Site<'_>, cpu: CpuId) -> Option<NodeId> {
    let own = *site.machine.cpu(cpu)?.node.get()?;
    let columns = columns_for(site, &[]);
    let columns = columns.iter().filter(|(_, state)| state.get().is_some());
    let rated = |node: NodeId| site.machine.distances.rated(own, node).unwrap_or(u32::MAX);
    let mut nodes = columns.map(|(node, _)| node.id);
    nodes.clone().find(|&node| node == own).or_else(|| nodes.by_ref().min_by_key(|&n| rated(n)))
}

pub fn region(site: &Site<'_>, node: NodeId, bytes: usize) -> Result<Region, PlaceError> {
    let (machine, at) = in_truth(site, node);
    Region::place(&Request::on(machine, at, bytes, site.pages))
}

/// The physical node: an emulated one is a set of CPUs of a physical one.
fn in_truth<'a>(site: &Site<'a>, node: NodeId) -> (&'a Machine, NodeId) {
    site.planted.map_or((site.machine, node), |planted| {
        (planted.ground, planted.ground.node_under(site.machine, node))
    })
}

pub fn last_level_bytes(machine: &Machine, cpus: &CpuSet) -> Option<u64> {
    let level = machine.last_cache_level()?;
    let caches = machine.caches.iter().filter(|cache| cache.level == level);
    let bytes = caches.filter(|cache| cache.cpus.intersects(cpus)).map(|cache| cache.bytes.get());
    bytes.sum::<Option<u64>>().filter(|&bytes| bytes > 0)
}

pub const ASSUMED_CACHE_BYTES: u64 = 64 << 20;

pub fn cache_bytes(site: &Site<'_>, cpu: CpuId) -> Option<u64> {
    site.machine.last_cache_of(cpu)?.bytes.get().copied()
}

pub fn room_on(site: &Site<'_>, node: NodeId, regions: &[u64]) -> Known<()> {
    let columns = columns_for(site, regions);
    let found = columns.into_iter().find(|(column, _)| column.id == node).map(|(_, state)| state);
    found.unwrap_or_else(|| Known::missing(Code::NotApplicable, "the node has no memory"))
}

/// A cell for each distance class between CPUs, in every series, with two CPUs of that distance.
pub fn ladder_cells(site: &Site<'_>, series: &[String], unit: Unit) -> Vec<Cell> {
    let rungs = site.machine.distances.ladder.iter();
    let rungs = rungs.filter(|rung| rung.class != DistanceClass::MemoryOnly);
    let cells = rungs.flat_map(|rung| {
        let cpus = rung.example.as_ref().and_then(|example| match *example {
            RungExample::Cpus(a, b) if site.cpus.contains(a) && site.cpus.contains(b) => {
                Known::Is(vec![a, b])
            }
            RungExample::Cpus(..) => {
                Known::missing(Code::TooFewCpus, "its CPUs were left out by --cpus or --nodes")
            }
            RungExample::Memory(..) => {
                Known::missing(Code::NotApplicable, "memory-only nodes have no CPU")
            }
        });
        series.iter().map(move |series| Cell {
            series: series.clone(),
            row: Place::Class(rung.class),
            column: cpus.get().map_or(Place::Class(rung.class), |cpus| Place::Cpu(cpus[1])),
            class: Known::Is(rung.class),
            unit,
            cpus: cpus.clone(),
        })
    });
    cells.collect()
}

/// `64 MiB`, `1.9 GiB`.
pub fn bytes_text(bytes: usize) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib >= 1024.0 { format!("{:.1} GiB", mib / 1024.0) } else { format!("{mib:.0} MiB") }
}
