//! Check: does a full node reclaim its own pages before it uses another node's?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "zone-reclaim",
    why: "a node that fills up then stalls in reclaim although others have memory free",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.number::<u8>("proc/sys/vm/zone_reclaim_mode") {
        Known::Is(0) => Seen::good("off"),
        Known::Is(mode) if at.machine.nodes.len() < 2 => {
            Seen::good(format!("mode {mode}, but there is one node"))
        }
        Known::Is(mode) => {
            Seen::warning(format!("mode {mode}"), "sysctl -w vm.zone_reclaim_mode=0")
        }
        Known::Missing(_) => Seen::good("not in this kernel"),
    }
}
