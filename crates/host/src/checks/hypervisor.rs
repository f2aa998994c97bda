//! Check: is this machine virtual?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "hypervisor",
    why: "the hypervisor chooses which sockets, SMT siblings and caches a guest sees",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let virtualization = &at.machine.virtualization;
    match (&virtualization.guest, &virtualization.hypervisor) {
        (Known::Is(false), _) => Seen::good("bare metal"),
        (Known::Is(true), hypervisor) => Seen::fixable(
            format!(
                "a guest of {}",
                hypervisor.get().map_or("an unnamed hypervisor", String::as_str)
            ),
            Fix::without_undo(
                "measure which CPUs are near: hopcost probe cores",
                "it only measures",
            ),
        ),
        (Known::Missing(reason), _) => Seen::note(format!("unknown: {reason}")),
    }
}
