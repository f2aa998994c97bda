//! Check: does a control group limit CPU time?

use hopcost_core::{Known, Limit};

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "cpu-quota",
    why: "a quota stops threads for whole periods, in which a measurement sees nothing but slowness",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match &at.machine.limits.cpu_quota {
        Known::Is(Limit::Unlimited) => Seen::good("no quota on CPU time"),
        Known::Is(Limit::At(cpus)) => Seen::warning(
            format!("{cpus:.1} CPUs' worth of time is granted"),
            "lift it: echo max > cpu.max of the control group (docker: no --cpus; Kubernetes: no CPU limit)",
        ),
        Known::Missing(reason) => Seen::note(format!("unknown: {reason}")),
    }
}
