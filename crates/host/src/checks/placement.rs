//! Check: may memory be placed, and its placement be read?

use hopcost_sys::memory;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "placement",
    why: "without mbind memory is placed by first touch alone; without move_pages it is proved by mapping, not by page",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    if !at.root.is_live() {
        return Seen::note("not part of a recording");
    }
    let forbidden = match memory::forbidden_calls() {
        Ok(forbidden) => forbidden,
        Err(error) => return Seen::note(format!("could not be tried: {error}")),
    };
    if forbidden.is_empty() {
        return Seen::good("mbind and move_pages are allowed");
    }
    Seen::warning(
        format!("{} forbidden here", forbidden.join(" and ")),
        "docker: --cap-add SYS_NICE, or a seccomp profile that allows mbind and move_pages",
    )
}
