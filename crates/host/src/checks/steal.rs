//! Check: does the hypervisor take CPU time?

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "steal",
    why: "CPU time that the hypervisor gives to other guests looks like slow memory or a slow query",
    look,
};

const TOLERABLE: f64 = 0.005;

fn look(at: &Surroundings<'_>) -> Seen {
    let Some(activity) = at.activity.get() else { return Seen::note("CPU time was not watched") };
    let share = format!("{:.1}% of CPU time was stolen", activity.stolen * 100.0);
    if activity.stolen <= TOLERABLE {
        return Seen::good(share);
    }
    Seen::warning(
        share,
        Fix::without_undo("measure in a guest with dedicated CPUs", "this guest stays as it is"),
    )
}
