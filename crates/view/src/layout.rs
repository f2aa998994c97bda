//! How a machine is divided for any picture of it: rooms, cache groups, cores.

use hopcost_core::{Cache, CpuSet, Machine, Node};

/// A room of a picture: a socket, or memory that belongs to none.
pub struct Room<'a> {
    /// What stands over it.
    pub title: String,
    /// The nodes in it.
    pub nodes: Vec<&'a Node>,
    /// The CPUs in it.
    pub cpus: CpuSet,
}

/// Sockets with their nodes; a node that spans sockets, and memory without CPUs, stands apart.
pub fn rooms(machine: &Machine) -> Vec<Room<'_>> {
    let sockets_of = |node: &Node| {
        machine.sockets.iter().filter(|socket| socket.cpus.intersects(&node.cpus)).count()
    };
    let sockets = machine.sockets.iter().map(|socket| Room {
        title: format!("socket {}", socket.id),
        nodes: machine
            .nodes
            .iter()
            .filter(|node| node.cpus.intersects(&socket.cpus) && sockets_of(node) == 1)
            .collect(),
        cpus: socket.cpus.clone(),
    });
    let apart = machine.nodes.iter().filter(|node| sockets_of(node) != 1 && node.has_memory());
    let apart = apart.map(|node| Room {
        title: if node.is_memory_only() { "memory only" } else { "memory of all sockets" }.into(),
        nodes: vec![node],
        cpus: CpuSet::new(),
    });
    sockets.chain(apart).collect()
}

/// Some CPUs by the last-level cache they share; a CPU of which no cache is known is alone, as
/// those are that are off-line.
pub fn by_last_cache<'a>(machine: &'a Machine, cpus: &CpuSet) -> Vec<(Option<&'a Cache>, CpuSet)> {
    let mut groups = Vec::new();
    let mut rest = cpus.clone();
    while let Some(first) = rest.first() {
        let cache = machine.last_cache_of(first);
        let online = machine.cpu(first).is_some_and(|cpu| cpu.online);
        let group = match cache {
            Some(cache) => cache.cpus.intersection(&rest),
            None if online => {
                let uncached = |id: &_| machine.last_cache_of(*id).is_none();
                let online = |id: &_| machine.cpu(*id).is_some_and(|cpu| cpu.online);
                rest.iter().filter(|id| uncached(id) && online(id)).collect()
            }
            None => CpuSet::from_iter([first]),
        };
        rest = rest.difference(&group);
        groups.push((cache, group));
    }
    groups
}

/// Some CPUs core by core.
pub fn by_core(machine: &Machine, cpus: &CpuSet) -> Vec<CpuSet> {
    let mut cores: Vec<CpuSet> = Vec::new();
    let mut rest = cpus.clone();
    while let Some(first) = rest.first() {
        let siblings = machine.cpu(first).map(|cpu| cpu.siblings.intersection(&rest));
        let core = siblings.unwrap_or_else(|| CpuSet::from_iter([first]));
        rest = rest.difference(&core);
        cores.push(core);
    }
    cores
}
