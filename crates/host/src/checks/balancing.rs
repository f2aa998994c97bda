//! Check: does the kernel move pages and threads between nodes (automatic NUMA balancing)?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "numa-balancing",
    why: "it moves pages towards the threads that use them, which undoes a placement under test",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.number::<u8>("proc/sys/kernel/numa_balancing") {
        Known::Is(0) => Seen::good("off"),
        Known::Is(_) if at.machine.nodes.len() < 2 => Seen::good("on, but there is one node"),
        Known::Is(_) => Seen::warning("on", "sysctl -w kernel.numa_balancing=0"),
        Known::Missing(_) => Seen::good("not in this kernel"),
    }
}
