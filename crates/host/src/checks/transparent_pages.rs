//! Check: can memory get 2 MiB pages without a reservation?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "transparent-pages",
    why: "on 4 KiB pages a random walk over gigabytes measures TLB misses as much as memory",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    let Known::Is(choices) = at.root.text(file) else { return Seen::note("not in this kernel") };
    let chosen = choices.split(['[', ']']).nth(1).unwrap_or("");
    match chosen {
        "never" => Seen::warning("never", format!("echo madvise > /{file}")),
        "always" => Seen::Note(
            "always: databases get them unasked, and stall when memory is defragmented for them"
                .into(),
            Some(format!("echo madvise > /{file}")),
        ),
        other => Seen::good(other),
    }
}
