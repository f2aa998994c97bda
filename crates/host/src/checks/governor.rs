//! Check: do the CPUs hold their clock frequency?

use std::collections::BTreeMap;

use hopcost_core::{CpuSet, Known};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "governor",
    why: "a CPU that lowers its clock while it waits makes light load look slow",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let mut governors: BTreeMap<String, CpuSet> = BTreeMap::new();
    for cpu in at.machine.limits.cpus.iter() {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        if let Known::Is(governor) = at.root.text(&file) {
            governors.entry(governor).or_default().insert(cpu);
        }
    }
    if governors.is_empty() {
        return Seen::note("the kernel sets no clock here (a guest, or a fixed clock)");
    }
    let slow = || governors.iter().filter(|(governor, _)| *governor != "performance");
    let seen: Vec<String> =
        slow().map(|(governor, cpus)| format!("{governor} on CPU {cpus}")).collect();
    if seen.is_empty() {
        return Seen::good("performance on all CPUs");
    }
    let undo: Vec<String> = slow()
        .map(|(governor, cpus)| format!("cpupower -c {cpus} frequency-set -g {governor}"))
        .collect();
    let fix = Fix::new("cpupower frequency-set -g performance", undo.join("; "));
    Seen::warning(seen.join(", "), fix)
}
