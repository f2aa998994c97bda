//! Check: does a database run here?

use hopcost_sys::processes;

use super::check::{Check, Fix, Seen, Surroundings};
use crate::occupancy::servers::{self, Found, Server};

pub const CHECK: Check = Check {
    name: "databases",
    why: "measuring slows a production database on the same host, and its load distorts the figures",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    if !at.root.is_live() {
        return Seen::note("processes are not part of a recording");
    }
    let all = processes::read(at.root).ok().unwrap_or_default();
    let used = |server: &Found| -> f64 {
        let processes = at.activity.get().into_iter().flat_map(|activity| &activity.processes);
        let its_own = processes.filter(|process| server.processes.contains(&process.pid));
        its_own.fold(0.0, |sum, process| sum + process.cpus)
    };
    let found = servers::find(at.root, &all);
    let servers: Vec<Server> =
        found.iter().map(|server| server.describe(at.root, used(server))).collect();
    if servers.is_empty() {
        return Seen::good("no database server runs here");
    }
    let told: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let seen = told.join("; ");
    if servers.iter().any(Server::is_at_work) {
        return Seen::warning(
            seen,
            Fix::without_undo("measure while it is idle", "waiting changes nothing"),
        );
    }
    Seen::Note(format!("{seen}: idle now"), None)
}
