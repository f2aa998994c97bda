//! The placement of a variant in one binding.

use hopcost_core::{
    Avoided, Binding, Code, CpuId, CpuSet, Level, Machine, NodeId, Parallel, Reason, Spot,
    VariantSettings,
};

use super::distances::{cpus_away, memory_away};
use super::layout::Placement;
use super::{apart, cores};

pub fn too_few_nodes(wanted: usize, there: usize, machine: &Machine) -> Reason {
    let has = if there == 1 { "has" } else { "have" };
    let shared = machine.nodes.iter().any(|node| node.avoided == Some(Avoided::SharedCpus));
    let own = if shared { " of its own" } else { "" };
    let here = match machine.nodes.iter().filter(|node| node.has_memory()).count() {
        all if all > there => format!("{there} of this machine's {all} {has} usable CPUs{own}"),
        _ => format!("this machine has {there}"),
    };
    Code::TooFewNodes.because(format!("needs {wanted} memory nodes; {here}"))
}

pub fn place(level: &Level, binding: &Binding, machine: &Machine) -> Result<Placement, Reason> {
    let node_of = |letter: &char| binding.nodes.get(letter).copied();
    let at = match &level.workers {
        Some(Spot::Node(letter)) => node_of(letter),
        _ => None,
    };
    let mut workers = match at.and_then(|node| machine.node(node)) {
        Some(node) => machine.in_order_of_use(&node.cpus.intersection(&machine.limits.cpus)),
        None if level.copy.policy.is_some() => on_all_nodes(machine)?,
        None => machine.in_order_of_use(&machine.limits.cpus),
    };
    let mut spare = CpuSet::new();
    if level.siblings.is_some() || level.cores.is_some() {
        let all: CpuSet = workers.into_iter().collect();
        workers = cores::of(level, machine, &all, binding.turned)?;
        spare = all.difference(&workers.iter().copied().collect());
    }
    if let Some(class) = level.apart {
        workers = apart::in_two_places(class, machine, &workers.into_iter().collect())?;
    }
    if let Some(cpus) = level.cpus {
        if workers.len() < cpus as usize {
            return Err(Code::TooFewCpus
                .because(format!("needs {cpus} CPUs; {} can be used there", workers.len())));
        }
        workers.truncate(cpus as usize);
    }
    let Some(&first) = workers.first() else {
        return Err(Code::TooFewCpus.because("no CPU there can be used"));
    };
    let home = match &level.data {
        None => None,
        Some(Spot::Node(letter)) => node_of(letter),
        Some(Spot::Away(class)) => Some(memory_away(machine, first, *class)?),
    };
    let cpus = |spot: &Option<Spot>| -> Result<Option<CpuSet>, Reason> {
        Ok(match spot {
            None => None,
            Some(Spot::Node(letter)) => {
                node_of(letter).and_then(|node| machine.node(node)).map(|node| node.cpus.clone())
            }
            Some(Spot::Away(class)) => Some(cpus_away(machine, first, *class)?),
        })
    };
    let (log_writer, client) = (cpus(&level.log_writer)?, cpus(&level.client)?);
    let spare = client.iter().fold(spare, |spare, client| spare.difference(client));
    let of_worker = |cpu: &CpuId| node_with(machine, *cpu);
    let at = at.or_else(|| only_node(machine));
    let at = at.filter(|at| workers.iter().all(|cpu| of_worker(cpu) == Some(*at)));
    let parallel = parallel(level, binding, machine)?;
    let nodes = if at.is_none() { workers.iter().map(of_worker).collect() } else { None };
    let settings = VariantSettings {
        home,
        copy: level.copy,
        workers,
        at,
        nodes: nodes.unwrap_or_default(),
        log_writer,
        parallel,
        session: level.session,
    };
    Ok(Placement { settings, spare, client })
}

/// More processes than CPUs would only wait for each other.
fn parallel(
    level: &Level,
    binding: &Binding,
    machine: &Machine,
) -> Result<Option<Parallel>, Reason> {
    let Some(dop) = level.dop else { return Ok(None) };
    let cpus = machine.limits.cpus.len();
    if dop as usize > cpus {
        return Err(Code::TooFewCpus
            .because(format!("needs {dop} CPUs for {dop} processes; {cpus} can be used here")));
    }
    let node = |spot| match spot {
        Some(Spot::Node(letter)) => binding.nodes.get(&letter).copied(),
        _ => None,
    };
    let (postmaster, workers) = (node(level.postmaster), node(level.parallel_workers));
    Ok(Some(Parallel { dop, postmaster, workers }))
}

/// Alternates between nodes. On a single node all policies are equal.
fn on_all_nodes(machine: &Machine) -> Result<Vec<CpuId>, Reason> {
    let usable = &machine.limits.cpus;
    let nodes = machine.nodes_with_memory().map(|node| node.cpus.intersection(usable));
    let nodes: Vec<CpuSet> = nodes.filter(|cpus| !cpus.is_empty()).collect();
    if nodes.len() < 2 {
        return Err(too_few_nodes(2, nodes.len(), machine));
    }
    let of_node = |cpus: &CpuSet| machine.in_order_of_use(cpus).into_iter().enumerate();
    let mut dealt: Vec<(usize, CpuId)> = nodes.iter().flat_map(of_node).collect();
    // The sort is stable: within a round the nodes keep their order.
    dealt.sort_by_key(|(round, _)| *round);
    Ok(dealt.into_iter().map(|(_, cpu)| cpu).collect())
}

fn node_with(machine: &Machine, cpu: CpuId) -> Option<NodeId> {
    machine.nodes_with_memory().find(|node| node.cpus.contains(cpu)).map(|node| node.id)
}

fn only_node(machine: &Machine) -> Option<NodeId> {
    let mut nodes = machine.nodes_with_memory();
    nodes.next().filter(|_| nodes.next().is_none()).map(|node| node.id)
}
