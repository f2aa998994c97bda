//! Check: do the CPUs hold their clock frequency?

use std::collections::BTreeMap;

use hopcost_core::{CpuSet, Known};

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "governor",
    why: "a CPU that clocks down while it waits makes light load look slow and first samples slower",
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
    let slow: Vec<String> = governors
        .iter()
        .filter(|(governor, _)| *governor != "performance")
        .map(|(governor, cpus)| format!("{governor} on CPU {cpus}"))
        .collect();
    if slow.is_empty() {
        return Seen::good("performance on all CPUs");
    }
    Seen::warning(slow.join(", "), "cpupower frequency-set -g performance")
}
