//! Does a database live here?

use std::collections::BTreeMap;

use hopcost_sys::activity;

use super::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "databases",
    why: "load beside a production database hurts it, and its memory and work distort the figures",
    look,
};

/// The names of server processes; Linux cuts a command's name at 15 letters.
const SERVERS: &[&str] = &[
    "postgres",
    "mysqld",
    "mariadbd",
    "sqlservr",
    "oracle",
    "db2sysc",
    "mongod",
    "redis-server",
    "clickhouse-serv",
    "cassandra",
    "cockroach",
    "tidb-server",
];

/// CPUs that all processes of an idle server use together.
const IDLE_BELOW: f64 = 0.01;

fn look(at: &Surroundings<'_>) -> Seen {
    if !at.root.is_live() {
        return Seen::note("processes are not part of a recording");
    }
    let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (pid, name) in activity::processes_named(SERVERS) {
        found.entry(name).or_default().push(pid);
    }
    if found.is_empty() {
        return Seen::good("no database server runs here");
    }
    let used = |name: &str| -> f64 {
        let processes = at.activity.get().into_iter().flat_map(|activity| &activity.processes);
        processes.filter(|process| process.name == name).map(|process| process.cpus).sum()
    };
    let told: Vec<String> = found
        .iter()
        .map(|(name, pids)| {
            let (first, number) = (pids[0], pids.len());
            format!(
                "{name} ({number} processes, first pid {first}, {:.0} % of a CPU)",
                used(name) * 100.0
            )
        })
        .collect();
    let seen = told.join(", ");
    if found.keys().any(|name| used(name) > IDLE_BELOW) {
        return Seen::warning(
            seen,
            "measure when it is idle, on another host, or keep to other CPUs with --cpus",
        );
    }
    Seen::Note(format!("{seen}: idle now"), None)
}
