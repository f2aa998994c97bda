//! A server's memory: where it is to be, and where it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hopcost_core::{
    CpuSet, DataPlacement, Locality, Look, NodeId, PageSize, Policy, ProofMethod, Setup,
};
use hopcost_sys::child::{Memory, Place};
use hopcost_sys::memory::Foreign;

use super::super::{in_truth, spread_in_truth};

#[derive(Clone, Debug)]
pub struct ServerMemory {
    memory: Foreign,
    /// The node it is to be on, or one of `spread`; `None` if it may be anywhere.
    asked: Option<NodeId>,
    /// The nodes it is interleaved over; empty for one node.
    spread: Vec<NodeId>,
    bound: bool,
    /// Pages in place, of all that the last look asked about.
    in_place: Arc<Mutex<[u64; 2]>>,
}

impl ServerMemory {
    pub fn anywhere(memory: Foreign, asked: Option<NodeId>) -> Self {
        Self { memory, asked, spread: Vec::new(), bound: false, in_place: Arc::default() }
    }

    pub fn at(self, setup: &Setup<'_>, home: DataPlacement) -> Self {
        let cpus = home.node.and_then(|node| setup.machine.node(node)).map(|node| &node.cpus);
        let bound = match home.copy.policy {
            Some(policy) => policy != Policy::FirstTouch,
            None => cpus.is_some_and(CpuSet::is_empty),
        };
        let spread: Vec<_> = spread_in_truth(setup, home).iter().collect();
        let asked = home.node.map(|node| in_truth(setup, node)).or(spread.first().copied());
        Self { asked, spread, bound, ..self }
    }

    pub fn asked(&self) -> Option<NodeId> {
        self.asked
    }

    pub fn page_size(&self) -> PageSize {
        self.memory.page_size
    }

    /// Where its pages are; `None` if it may be anywhere or the kernel does not report it. A glance
    /// that finds pages elsewhere becomes a full look.
    pub fn locality(&self, look: Look) -> Option<Locality> {
        let most = if look == Look::Glance { GLANCE } else { FULL };
        let mut found = self.look(most)?;
        if look == Look::Glance && found.objection().is_some() {
            found = self.look(FULL)?;
        }
        *self.in_place.lock().unwrap_or_else(PoisonError::into_inner) = found.in_place();
        Some(found)
    }

    fn look(&self, most: usize) -> Option<Locality> {
        let pages = self.memory.pages(most).ok()?;
        self.found(ProofMethod::MovePages, pages.by_node, 0)
    }

    pub fn found(
        &self,
        method: ProofMethod,
        pages_by_node: BTreeMap<NodeId, u64>,
        pages_unknown: u64,
    ) -> Option<Locality> {
        Some(Locality {
            asked: self.asked?,
            spread: self.spread.clone(),
            bound: self.bound,
            pages_by_node,
            pages_unknown,
            method,
            page_size: self.memory.page_size,
            page_size_share: 1.0,
        })
    }

    pub fn in_place(&self) -> [u64; 2] {
        *self.in_place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pages that a glance and a full look ask about.
const GLANCE: usize = 1 << 12;
const FULL: usize = 1 << 18;

/// A server that starts on a node's CPUs touches its memory first from there. Memory is bound if
/// the experiment says so, or if the node has no CPUs. The policy holds for all processes of the
/// server, as under numactl.
pub fn place_of(setup: &Setup<'_>, home: DataPlacement) -> Place {
    if home.copy.policy == Some(Policy::Interleave) {
        let nodes = spread_in_truth(setup, home);
        return Place { cpus: None, memory: Some(Memory::Interleaved(nodes)) };
    }
    let Some(node) = home.node else { return Place::default() };
    let cpus = setup.machine.node(node).map(|node| node.cpus.clone()).unwrap_or_default();
    let usable: CpuSet = cpus.intersection(&setup.ground.limits.cpus);
    let is_bound = matches!(home.copy.policy, Some(Policy::Bind | Policy::PerNode));
    Place {
        memory: (is_bound || usable.is_empty()).then(|| Memory::Bound(in_truth(setup, node))),
        cpus: Some(usable).filter(|cpus| !cpus.is_empty()),
    }
}
