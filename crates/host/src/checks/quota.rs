//! Check: does a control group limit CPU time?

use hopcost_core::{Known, Limit};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "cpu-quota",
    why: "a quota stops all threads for the rest of a period, which looks like a slow database",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.machine.limits.cpu_quota {
        Known::Is(Limit::Unlimited) => Seen::good("no quota on CPU time"),
        Known::Is(Limit::At(cpus)) => {
            Seen::warning(format!("at most {cpus:.1} CPUs' worth of time"), fix(at, cpus))
        }
        Known::Missing(ref reason) => Seen::note(format!("unknown: {reason}")),
    }
}

/// The file of our own group, unless the quota is that of a group above it or of cgroup version 1.
fn fix(at: &Surroundings<'_>, cpus: f64) -> Fix {
    let group = at.machine.limits.cgroup.get().map_or("", String::as_str);
    let file = format!("sys/fs/cgroup{group}/cpu.max");
    match at.root.text(&file) {
        Known::Is(quota) if !quota.starts_with("max") => {
            Fix::new(format!("echo max > /{file}"), format!("echo '{quota}' > /{file}"))
        }
        _ => Fix::new(
            "remove the CPU limit of this container or unit",
            format!("set its limit of {cpus:.1} CPUs again"),
        ),
    }
}
