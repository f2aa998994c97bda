//! Where a setup's data and log writer belong.

use hopcost_core::{
    Code, CpuId, DataPlacement, Emulation, Machine, Metric, NodeId, NodeSet, Policy, Reason, Setup,
    TargetError, VariantSettings,
};
use hopcost_sys::memory::{Placing, Request};

/// ` on node 1`, ` on all nodes in turn`, ` on base pages`; empty for data that may be anywhere.
pub fn words_of(home: DataPlacement) -> String {
    let place = match (home.node, home.copy.policy) {
        (_, Some(Policy::Interleave)) => " on all nodes in turn".to_owned(),
        (Some(node), _) => format!(" on node {node}"),
        (None, _) => String::new(),
    };
    match home.copy.pages {
        Some(pages) => format!("{place} on {pages}"),
        None => place,
    }
}

/// The real node of a node: an emulated one is a set of CPUs of a real one.
pub fn in_truth(setup: &Setup<'_>, node: NodeId) -> NodeId {
    setup.emulation.map_or(node, |_| setup.ground.node_under(setup.machine, node))
}

/// The nodes that interleaved data is spread over; empty for data on one node.
pub fn spread_of(setup: &Setup<'_>, home: DataPlacement) -> Vec<NodeId> {
    if home.copy.policy != Some(Policy::Interleave) {
        return Vec::new();
    }
    setup.machine.nodes_with_memory().map(|node| node.id).collect()
}

pub fn spread_in_truth(setup: &Setup<'_>, home: DataPlacement) -> NodeSet {
    spread_of(setup, home).into_iter().map(|node| in_truth(setup, node)).collect()
}

/// The memory request for a data placement. Emulated nodes share the memory of real ones, so their
/// policies have no effect on it.
pub fn memory_of(
    setup: &Setup<'_>,
    home: DataPlacement,
    bytes: usize,
) -> Result<Request, TargetError> {
    let request = Request::on(setup.ground, place_of(setup, home)?, bytes, home.copy.pages);
    let placing = match home.copy.policy {
        _ if setup.emulation.is_some() => Placing::Bind,
        Some(Policy::FirstTouch) => Placing::FirstTouch,
        Some(Policy::Interleave) => {
            Placing::Interleave(spread_of(setup, home).into_iter().collect())
        }
        Some(Policy::Bind | Policy::PerNode) | None => Placing::Bind,
    };
    Ok(Request { placing, ..request })
}

/// The real node to allocate on: of an emulated node, that of its CPUs; for data that may be
/// anywhere, the first node with memory.
pub fn place_of(setup: &Setup<'_>, home: DataPlacement) -> Result<NodeId, TargetError> {
    if let (Some(node), None) = (home.node, setup.emulation) {
        return Ok(node);
    }
    let has_memory = |machine: &Machine, node: NodeId| {
        machine.nodes_with_memory().any(|other| other.usable && other.id == node)
    };
    let cpu = home.node.and_then(|node| setup.machine.node(node)?.cpus.first());
    let own = cpu.and_then(|cpu| setup.ground.cpu(cpu)?.node.get().copied());
    let own = own.filter(|node| has_memory(setup.ground, *node));
    let any = || setup.ground.nodes_with_memory().find(|node| node.usable).map(|node| node.id);
    own.or_else(any).ok_or_else(|| {
        let words = format!("no node has memory for the data that is to be{}", words_of(home));
        TargetError::NotHere(Code::TooFewNodes.because(words))
    })
}

/// The data placements of a setup; a single default one if the experiment names none.
pub fn homes_of(setup: &Setup<'_>) -> Vec<DataPlacement> {
    if setup.homes.is_empty() { vec![DataPlacement::default()] } else { setup.homes.clone() }
}

/// Why a database whose memory is in one place cannot prove a claim about emulated nodes.
pub fn untold_of_nodes(
    metric: Metric,
    emulation: Option<&Emulation>,
    memory: &str,
) -> Option<Reason> {
    (metric.is_of_nodes() && emulation.is_some()).then(|| {
        Code::Unverifiable.because(format!(
            "{memory} cannot be placed on emulated nodes, so a page is neither local nor remote. Use a machine \
             that has the nodes, or --target sqlite"
        ))
    })
}

pub fn log_writer_of(variant: &VariantSettings) -> Result<CpuId, TargetError> {
    let nowhere =
        || TargetError::NotHere(Code::Unsupported.because("the experiment places no log writer"));
    variant.log_writer_cpu().ok_or_else(nowhere)
}
