//! Check: is memory swapped out?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "swap",
    why: "a page that was swapped out comes back wherever there is room, and its fault is milliseconds",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let Known::Is(meminfo) = at.root.text("proc/meminfo") else { return Seen::note("unknown") };
    let kib = |key: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()
    };
    let (Some(total), Some(free)) = (kib("SwapTotal"), kib("SwapFree")) else {
        return Seen::note("the kernel does not tell");
    };
    let used_mib = total.saturating_sub(free) >> 10;
    match (total, used_mib) {
        (0, _) => Seen::good("no swap"),
        (_, 0) => Seen::good("none in use"),
        (_, used) => Seen::warning(format!("{used} MiB in use"), "swapoff -a, if memory allows"),
    }
}
