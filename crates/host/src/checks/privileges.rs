//! Check: which privileges does this user lack?

use std::os::unix::fs::MetadataExt;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "privileges",
    why: "measuring needs no root, but changing settings and reading some facts does",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    if !at.root.is_live() {
        return Seen::note("not part of a recording");
    }
    // A process's own directory belongs to its user.
    if std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        return Seen::good("root");
    }
    let mut closed = vec!["changing settings such as huge pages"];
    let hmat = at.machine.distances.hmat.reason();
    if hmat.is_some_and(|reason| reason.as_str().contains("may not be read")) {
        closed.push("the firmware's full latency table");
    }
    if std::fs::read("/proc/1/maps").is_err() {
        closed.push("where other users' processes have their memory");
    }
    Seen::fixable(
        format!("an ordinary user, without: {}", closed.join("; ")),
        Fix::without_undo("run hopcost as root if you need one of these", "nothing is changed"),
    )
}
