//! Check: is the machine idle?

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "load",
    why: "what else runs takes CPU, cache and memory bandwidth from the measurement",
    look,
};

/// An idle Linux stays below this on each CPU.
const IDLE_BELOW: f64 = 0.05;

fn look(at: &Surroundings<'_>) -> Seen {
    let Some(activity) = at.activity.get() else { return Seen::note("the CPUs were not watched") };
    let mut busy: Vec<_> = activity.busy.iter().filter(|(_, share)| **share > IDLE_BELOW).collect();
    busy.sort_by(|a, b| b.1.total_cmp(a.1));
    if busy.is_empty() {
        return Seen::good("all CPUs are idle");
    }
    let named: Vec<String> = busy
        .iter()
        .take(4)
        .map(|(cpu, share)| format!("CPU {cpu} {:.0} %", *share * 100.0))
        .collect();
    let seen = format!(
        "{} of {} CPUs are at work: {}{}",
        busy.len(),
        activity.busy.len(),
        named.join(", "),
        if busy.len() > named.len() { ", …" } else { "" }
    );
    Seen::warning(seen, "wait for a quiet hour, or keep to idle CPUs with --cpus")
}
