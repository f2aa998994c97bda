//! The division of a machine in pictures: rooms, cache groups, cores.

use hopcost_core::{Cache, CpuSet, Machine, Node, NodeSet};

use crate::words::bytes;

/// A socket, or memory that belongs to none.
pub struct Room<'a> {
    pub title: String,
    pub nodes: Vec<&'a Node>,
    pub cpus: CpuSet,
}

/// Sockets with their nodes. A node of several sockets is a room if there are several such nodes.
/// If it is the only one, its memory is a room, as is memory without CPUs.
pub fn rooms(machine: &Machine) -> Vec<Room<'_>> {
    let sockets_of = |node: &Node| -> Vec<u32> {
        let touching = machine.sockets.iter().filter(|socket| socket.cpus.intersects(&node.cpus));
        touching.map(|socket| socket.id).collect()
    };
    let spanning = machine.nodes.iter().filter(|node| sockets_of(node).len() > 1);
    let by_node = spanning.clone().count() > 1;
    let mut rooms = Vec::new();
    for socket in machine.sockets.iter().filter(|_| !by_node) {
        let inside = |node: &&Node| sockets_of(node) == [socket.id];
        let nodes = machine.nodes.iter().filter(inside).collect();
        let cpus = socket.cpus.clone();
        rooms.push(Room { title: format!("socket {}", socket.id), nodes, cpus });
    }
    for node in spanning {
        let sockets = sockets_of(node);
        let (title, cpus) = if by_node {
            let (first, last) = (sockets[0], sockets[sockets.len() - 1]);
            (format!("sockets {first} to {last}"), node.cpus.clone())
        } else {
            ("memory of all sockets".to_owned(), CpuSet::new())
        };
        rooms.push(Room { title, nodes: vec![node], cpus });
    }
    for node in machine.nodes.iter().filter(|node| node.is_memory_only()) {
        rooms.push(Room { title: "memory only".into(), nodes: vec![node], cpus: CpuSet::new() });
    }
    rooms
}

/// On-line CPUs without a known cache form one group; off-line CPUs are single.
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

fn others_under(machine: &Machine, cache: &Cache, group: &CpuSet) -> String {
    let outside = cache.cpus.difference(group);
    let own = |node: &&Node| node.cpus.intersects(group);
    let nodes = machine.nodes.iter().filter(|node| node.cpus.intersects(&outside) && !own(node));
    nodes.map(|node| node.id).collect::<NodeSet>().to_string()
}

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

/// `L3 32 MiB with node 1`.
pub fn cache_label(machine: &Machine, cache: &Cache, group: &CpuSet) -> String {
    let size = cache.bytes.get().copied().map_or("size unknown".to_owned(), bytes);
    let shared = others_under(machine, cache, group);
    let shared = if shared.is_empty() { shared } else { format!(" with node {shared}") };
    format!("L{} {size}{shared}", cache.level)
}
