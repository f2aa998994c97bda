//! Is this host in use, so that a load would harm running work?
//!
//! Method: two readings, a second apart. A database server is at work if it has sessions or uses
//! more than 1% of a CPU; a host, if others use more than a tenth of its CPU time or two CPUs.
//! What is unknown counts as at work. Limits: it is one second. A container shows the host's CPU
//! time, but not its processes. Other users of a disk or a network card are invisible.

pub mod servers;

use std::fmt;
use std::time::Duration;

use hopcost_core::{Code, CpuSet, Known};
use hopcost_sys::activity::{self, Moment, Process};
use hopcost_sys::{Root, clock, processes, topology};
use serde::Serialize;

pub use servers::Server;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    pub servers: Vec<Server>,
    pub host: Host,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    pub cpus: usize,
    /// In CPUs: 1.0 is one CPU all the time. Hopcost itself is not counted.
    pub others_cpus: f64,
    /// Hopcost's own use counts as idle.
    pub idle_cpus: CpuSet,
    pub busiest: Vec<Process>,
    /// Threads running or runnable at the end, hopcost's included.
    pub runnable: Known<u64>,
    pub stolen: f64,
    pub available_bytes: Known<u64>,
    pub processes_shown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    Idle,
    AtWork {
        /// Each is sufficient alone.
        reasons: Vec<String>,
    },
}

const TOLERABLE_SHARE: f64 = 0.10;
/// In CPUs, because on a large host a tenth is many.
const TOLERABLE_CPUS: f64 = 2.0;
const IDLE_BELOW: f64 = 0.05;
const NAMED: usize = 3;

/// Blocks for `over` (a second is enough) and costs some milliseconds of CPU.
pub fn look(root: &Root, over: Duration) -> Occupancy {
    let (before, start) = (Moment::read(root), clock::now());
    std::thread::sleep(over);
    between(root, &before, &Moment::read(root), start.elapsed())
}

/// Takes no second sample: servers with sessions only.
pub fn glance(root: &Root) -> Presence {
    let all = processes::read(root).ok().unwrap_or_default();
    let servers = servers::find(root, &all).into_iter().map(|found| found.describe(root, 0.0));
    let at_work = servers.filter(Server::is_at_work);
    let told = at_work.map(|server| format!("{}: {}", server.name(), server.sessions_told()));
    Presence::of(told.collect())
}

/// Properties that do not change in the meantime are read from `root`.
pub fn between(root: &Root, before: &Moment, after: &Moment, over: Duration) -> Occupancy {
    let found = servers::find(root, &after.processes).into_iter();
    let servers = found.map(|found| {
        let used_ms = after
            .processes
            .used_ms(&found.processes)
            .saturating_sub(before.processes.used_ms(&before.processes.trees(found.heads.clone())));
        found.describe(root, used_ms as f64 / 1000.0 / over.as_secs_f64())
    });
    Occupancy { servers: servers.collect(), host: host(root, before, after, over) }
}

fn host(root: &Root, before: &Moment, after: &Moment, over: Duration) -> Host {
    let us = processes::ourselves(root).ok();
    let [before_ours, ours] = [before, after].map(|moment| moment.processes.trees(us));
    let own_ms = after.processes.used_ms(&ours);
    let own_ms = own_ms.saturating_sub(before.processes.used_ms(&before_ours));
    let activity = activity::between(before, after, over);
    let all_cpus: f64 = activity.busy.values().sum();
    let idle = activity.busy.iter().filter(|(_, share)| **share < IDLE_BELOW);
    let idle_cpus = idle.map(|(cpu, _)| *cpu).collect();
    let mut busiest = activity.processes;
    busiest.retain(|process| !ours.contains(&process.pid));
    busiest.truncate(NAMED);
    Host {
        cpus: after.cpus.len(),
        others_cpus: (all_cpus - own_ms as f64 / 1000.0 / over.as_secs_f64()).max(0.0),
        idle_cpus,
        busiest,
        runnable: runnable(root),
        stolen: activity.stolen,
        available_bytes: topology::machine_memory(root, "MemAvailable"),
        // Pid 1 exists in every pid namespace.
        processes_shown: after.processes.get(1).is_some(),
    }
}

fn runnable(root: &Root) -> Known<u64> {
    root.text("proc/stat").and_then(|stat| {
        let line = stat.lines().find_map(|line| line.strip_prefix("procs_running "));
        let number = line.and_then(|number| number.trim().parse().ok());
        Known::found(number, Code::NotTold, || "/proc/stat does not tell what could run")
    })
}

pub fn presence(occupancy: &Occupancy) -> Presence {
    let at_work = occupancy.servers.iter().filter(|server| server.is_at_work());
    let mut reasons: Vec<String> = at_work.map(ToString::to_string).collect();
    let host = &occupancy.host;
    if host.is_busy() {
        reasons.push(host.to_string());
    }
    if !host.processes_shown {
        reasons.push(
            "other users' processes are hidden (/proc is mounted with hidepid), so hopcost cannot \
             tell whether a database is at work: look as root"
                .into(),
        );
    }
    Presence::of(reasons)
}

impl Presence {
    fn of(reasons: Vec<String>) -> Self {
        if reasons.is_empty() { Self::Idle } else { Self::AtWork { reasons } }
    }
}

impl Host {
    pub fn is_busy(&self) -> bool {
        let tolerable = TOLERABLE_CPUS.min(TOLERABLE_SHARE * self.cpus as f64);
        self.cpus > 0 && self.others_cpus > tolerable
    }
}

/// `others use 3.1 of this host's 8 CPUs, most of all java (pid 77) 2.9, cron (pid 8) 0.1`
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "others use {:.1} of this host's {} CPUs, ", self.others_cpus, self.cpus)?;
        let named = self.busiest.iter();
        let named = named.map(|p| format!("{} (pid {}) {:.1}", p.name, p.pid, p.cpus));
        let named: Vec<String> = named.collect();
        if named.is_empty() {
            return f.write_str("in processes that cannot be seen from here");
        }
        write!(f, "most of all {}", named.join(", "))
    }
}

#[cfg(test)]
mod tests;
