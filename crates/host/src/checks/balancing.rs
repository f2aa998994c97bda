//! Check: does the kernel move pages and threads between nodes (automatic NUMA balancing)?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "numa-balancing",
    why: "the kernel moves pages toward the threads that use them, and so undoes the placement under test",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.number::<u8>("proc/sys/kernel/numa_balancing") {
        Known::Is(0) => Seen::good("off"),
        Known::Is(_) if at.machine.nodes.len() < 2 => Seen::good("on, but there is one node"),
        Known::Is(mode) => {
            let undo = format!("sysctl -w kernel.numa_balancing={mode}");
            Seen::warning("on", Fix::new("sysctl -w kernel.numa_balancing=0", undo))
        }
        Known::Missing(_) => Seen::good("not in this kernel"),
    }
}
