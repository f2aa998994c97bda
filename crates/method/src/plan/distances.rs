//! CPUs and nodes at a given distance class.

use hopcost_core::{Code, CpuId, CpuSet, DistanceClass, Known, Machine, NodeId, Reason};

pub fn memory_away(machine: &Machine, from: CpuId, class: DistanceClass) -> Result<NodeId, Reason> {
    let mut nodes = machine.nodes_with_memory().map(|node| node.id);
    let found = nodes.find(|&node| machine.memory_distance(from, node) == Known::Is(class));
    found.ok_or_else(|| absent(machine, class))
}

pub fn cpus_away(machine: &Machine, from: CpuId, class: DistanceClass) -> Result<CpuSet, Reason> {
    let usable = machine.limits.cpus.iter();
    let found: CpuSet =
        usable.filter(|&cpu| machine.cpu_distance(from, cpu) == Known::Is(class)).collect();
    if found.is_empty() { Err(absent(machine, class)) } else { Ok(found) }
}

fn absent(machine: &Machine, class: DistanceClass) -> Reason {
    let rung = machine.distances.ladder.iter().find(|rung| rung.class == class);
    let why = rung.and_then(|rung| rung.example.reason().cloned());
    why.unwrap_or_else(|| {
        Code::NoSuchDistance.because(format!("no usable CPU is {class} from the workers"))
    })
}
