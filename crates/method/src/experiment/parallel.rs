//! What a level says of parallel workers.

use hopcost_core::Spot;

use super::{Flaw, LevelTable, spot};

/// Is what a level says of parallel workers something that can be?
pub(super) fn check(table: &LevelTable) -> Result<(), Flaw> {
    if let Some(dop) = table.dop.as_ref().filter(|dop| *dop.get_ref() == 0) {
        return Err(Flaw::of(dop, "no process at all", "1 is the session's own, alone"));
    }
    let has_workers = table.dop.as_ref().is_some_and(|dop| *dop.get_ref() > 1);
    for place in [&table.postmaster, &table.parallel_workers].into_iter().flatten() {
        if !has_workers {
            let advice = "say how many processes work on a query: dop = 2 or more";
            return Err(Flaw::of(place, "there are no parallel workers to place", advice));
        }
        if let Spot::Away(_) = spot(place)? {
            let advice = "give them a node, as \"node:A\"";
            return Err(Flaw::of(place, "parallel workers are placed by node", advice));
        }
    }
    Ok(())
}
