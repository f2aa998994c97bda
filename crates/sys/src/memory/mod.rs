//! Memory in a chosen place, and the proof that it is there.

mod arena;
mod foreign;
mod locate;
pub(crate) mod mapped;
pub mod numa_maps;
mod policy;
mod region;

use hopcost_core::{PageSize, ProofMethod};

use crate::{Root, topology};

pub use arena::Arena;
pub use foreign::{Foreign, Pages};
pub use region::{PIECE, PlaceError, Placing, Region, Request, obstacle};

/// Placement calls that a sandbox or a kernel without memory nodes forbids, found by trying.
pub fn forbidden_calls() -> Result<Vec<&'static str>, PlaceError> {
    let machine = topology::read(&Root::live());
    let node = machine.nodes_with_memory().find(|node| node.cpus.intersects(&machine.limits.cpus));
    let mut forbidden = Vec::new();
    if let Some(node) = node {
        let request = Request::on(&machine, node.id, 4096, Some(PageSize::Base));
        let locality = Region::place(&request)?.locality();
        if !locality.bound {
            forbidden.push("mbind");
        }
        if locality.method != ProofMethod::MovePages {
            forbidden.push("move_pages");
        }
    }
    Ok(forbidden)
}
