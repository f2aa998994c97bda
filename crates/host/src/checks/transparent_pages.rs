//! Check: can memory get 2 MiB pages without a reservation?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "transparent-pages",
    why: "with 4 KiB pages, random reads over gigabytes measure TLB misses as much as memory",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    let Known::Is(choices) = at.root.text(file) else { return Seen::note("not in this kernel") };
    let chosen = choices.split(['[', ']']).nth(1).unwrap_or("");
    let fix = || Fix::new(format!("echo madvise > /{file}"), format!("echo {chosen} > /{file}"));
    match chosen {
        "never" => Seen::warning("never", fix()),
        "always" => Seen::fixable(
            "always: databases get them unasked, and stall when memory is defragmented for them",
            fix(),
        ),
        other => Seen::good(other),
    }
}
