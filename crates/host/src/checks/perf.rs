//! Check: may hardware counters be read?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "counters",
    why: "with hardware counters, cache misses and remote loads are counted instead of inferred",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let hardware = ["cpu", "cpu_core", "armv8_pmuv3_0"].iter().any(|pmu| {
        at.root.text(&format!("sys/bus/event_source/devices/{pmu}/type")).get().is_some()
    });
    if !hardware {
        return Seen::note("this machine shows no hardware counters (most guests do not)");
    }
    match at.root.number::<i32>("proc/sys/kernel/perf_event_paranoid") {
        Known::Is(level) if level <= 1 => Seen::good(format!("open (perf_event_paranoid {level})")),
        Known::Is(level) => Seen::fixable(
            format!("closed to ordinary users (perf_event_paranoid {level})"),
            Fix::new(
                "sysctl -w kernel.perf_event_paranoid=1",
                format!("sysctl -w kernel.perf_event_paranoid={level}"),
            ),
        ),
        Known::Missing(reason) => Seen::note(format!("unknown: {reason}")),
    }
}
