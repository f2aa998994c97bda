//! Check: does a full node reclaim its own pages before it uses another node's?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "zone-reclaim",
    why: "allocations stall on a full node, although other nodes have free memory",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.number::<u8>("proc/sys/vm/zone_reclaim_mode") {
        Known::Is(0) => Seen::good("off"),
        Known::Is(mode) if at.machine.nodes.len() < 2 => {
            Seen::good(format!("mode {mode}, but there is one node"))
        }
        Known::Is(mode) => {
            let undo = format!("sysctl -w vm.zone_reclaim_mode={mode}");
            Seen::warning(
                format!("mode {mode}"),
                Fix::new("sysctl -w vm.zone_reclaim_mode=0", undo),
            )
        }
        Known::Missing(_) => Seen::good("not in this kernel"),
    }
}
