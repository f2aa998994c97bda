//! Check: is this machine virtual?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "hypervisor",
    why: "a guest sees the sockets, siblings and caches that its hypervisor chose to show",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let virtualization = &at.machine.virtualization;
    match (&virtualization.guest, &virtualization.hypervisor) {
        (Known::Is(false), _) => Seen::good("bare metal"),
        (Known::Is(true), hypervisor) => Seen::Note(
            format!(
                "a guest of {}",
                hypervisor.get().map_or("an unnamed hypervisor", String::as_str)
            ),
            Some("'hopcost probe cores' shows which CPUs are really near".into()),
        ),
        (Known::Missing(reason), _) => Seen::note(format!("unknown: {reason}")),
    }
}
