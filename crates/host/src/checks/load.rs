//! Check: is the machine idle?

use hopcost_core::CpuSet;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "load",
    why: "other work takes CPU time, cache and memory bandwidth from the measurement",
    look,
};

/// An idle Linux stays below this on each CPU.
const IDLE_BELOW: f64 = 0.05;

/// Distance needs two CPUs, and so does a client beside its server.
const FEWEST_IDLE: usize = 2;

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
        .map(|(cpu, share)| format!("CPU {cpu} {:.0}%", *share * 100.0))
        .collect();
    let seen = format!(
        "{} of {} CPUs are not idle: {}{}",
        busy.len(),
        activity.busy.len(),
        named.join(", "),
        if busy.len() > named.len() { ", …" } else { "" }
    );
    let busy: CpuSet = busy.into_iter().map(|(cpu, _)| *cpu).collect();
    let idle = at.machine.limits.cpus.difference(&busy);
    let fix = if idle.len() < FEWEST_IDLE {
        Fix::without_undo("wait until the host is idle, then run again", "waiting changes nothing")
    } else {
        let options = format!(
            "hopcost run or survey: --allow-load=cpus:{idle}; hopcost probe: --cpus {idle}"
        );
        Fix::without_undo(options, "the option holds for one command")
    };
    Seen::warning(seen, fix)
}
