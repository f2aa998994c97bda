//! Check: is the clock cheap and exact?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "clocksource",
    why: "each latency takes two clock readings, and a slow clock adds microseconds to both",
    look,
};

/// Read without a system call, in about 20 ns.
const FAST: &[&str] =
    &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase"];

const DIR: &str = "sys/devices/system/clocksource/clocksource0";

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.text(&format!("{DIR}/current_clocksource")) {
        Known::Is(clock) if FAST.contains(&clock.as_str()) => Seen::good(clock),
        Known::Is(clock) => {
            let seen = format!("{clock}, which needs a system call or slow hardware");
            Seen::warning(seen, fix(at, &clock))
        }
        Known::Missing(reason) => Seen::note(format!("unknown: {reason}")),
    }
}

/// The kernel offers no clock that it found unreliable.
fn fix(at: &Surroundings<'_>, clock: &str) -> Fix {
    let offered = at.root.text(&format!("{DIR}/available_clocksource")).ok().unwrap_or_default();
    match offered.split_whitespace().find(|offered| FAST.contains(offered)) {
        Some(fast) => {
            let set = |clock: &str| format!("echo {clock} > /{DIR}/current_clocksource");
            Fix::new(set(fast), set(clock))
        }
        None => Fix::new(
            "boot with clocksource=tsc tsc=reliable, if the processor's counter is sound",
            "remove both from the kernel command line and boot again",
        ),
    }
}
