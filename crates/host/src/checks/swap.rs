//! Check: is memory swapped out?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "swap",
    why: "a swapped page returns to any node with room, and reading it back takes milliseconds",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let Known::Is(meminfo) = at.root.text("proc/meminfo") else { return Seen::note("unknown") };
    let kib = |key: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()
    };
    let (Some(total), Some(free)) = (kib("SwapTotal"), kib("SwapFree")) else {
        return Seen::note("the kernel does not report it");
    };
    let used_mib = total.saturating_sub(free) >> 10;
    match (total, used_mib) {
        (0, _) => Seen::good("no swap"),
        (_, 0) => Seen::good("none in use"),
        (_, used) => Seen::warning(
            format!(
                "{used} MiB in use, {} MiB of memory available",
                kib("MemAvailable").unwrap_or(0) >> 10
            ),
            Fix::new("swapoff -a", "swapon -a"),
        ),
    }
}
