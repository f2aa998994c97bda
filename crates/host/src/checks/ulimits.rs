//! Check: do the limits allow many sessions?

use hopcost_core::{Known, Limit};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "ulimits",
    why: "each session needs an open file, and shared memory on huge pages must be lockable",
    look,
};

/// 400 sessions, server and client in one process, and other open files.
const FILES_WANTED: u64 = 1024;

fn look(at: &Surroundings<'_>) -> Seen {
    let limits = &at.machine.limits;
    let locked = match limits.locked_bytes {
        Known::Is(Limit::At(bytes)) => format!("{} KiB lockable", bytes >> 10),
        Known::Is(Limit::Unlimited) => "all memory lockable".into(),
        Known::Missing(_) => "lockable memory unknown".into(),
    };
    match limits.open_files {
        Known::Is(Limit::At(files)) if files < FILES_WANTED => Seen::warning(
            format!("{files} open files, {locked}"),
            // Without -S the hard limit changes too, and only root can raise it again.
            Fix::new(format!("ulimit -Sn {FILES_WANTED}"), format!("ulimit -Sn {files}")),
        ),
        Known::Is(Limit::At(files)) => Seen::good(format!("{files} open files, {locked}")),
        Known::Is(Limit::Unlimited) => Seen::good(format!("any number of open files, {locked}")),
        Known::Missing(ref reason) => Seen::note(format!("unknown: {reason}")),
    }
}
