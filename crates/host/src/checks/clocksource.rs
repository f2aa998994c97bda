//! Check: is the clock cheap and exact?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "clocksource",
    why: "every latency is the difference of two clock readings; slow clocks cost microseconds each",
    look,
};

/// Read without a system call, in about 20 ns.
const FAST: &[&str] =
    &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase"];

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.text("sys/devices/system/clocksource/clocksource0/current_clocksource") {
        Known::Is(clock) if FAST.contains(&clock.as_str()) => Seen::good(clock),
        Known::Is(clock) => Seen::warning(
            format!("{clock}, which needs a system call or slow hardware"),
            "boot with clocksource=tsc tsc=reliable if the processor's counter is sound",
        ),
        Known::Missing(reason) => Seen::note(format!("unknown: {reason}")),
    }
}
