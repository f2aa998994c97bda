//! Placement of a running database: processes, allowed and last CPUs, memory by node.
//!
//! Method: a server is found as `occupancy` finds it and described from `/proc`. Given an address,
//! SQL identifies the server; it is on this host only if the backend that serves us and its parent
//! match by pid, kind and start time (`sameness`). Nothing is changed. Limits: it is one moment.
//! Only root sees the memory of another user's process. Shared memory counts once, from the process
//! that touched most of it; pages that this process never touched are not counted.

mod ground;
mod instance;
mod memory;
mod pid_file;
mod postgresql;
mod sameness;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    CallError, Code, Console, Host, Known, Located, Machine, Reason, TargetError, Whereabouts,
};
use hopcost_sys::{Root, sockets, standing};

use crate::occupancy::servers::{Found, KINDS, Kind};
use ground::{Ground, Part};
use instance::Instance;
use sameness::Sameness;
use told::Told;

pub const WHEREABOUTS_VERSION: u32 = 1;

#[derive(Debug)]
pub enum Asked {
    Process(u32),
    Kind(&'static Kind),
}

pub fn read(target: &str) -> Result<Asked, Reason> {
    if !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit()) {
        let pid = target.parse().ok().filter(|pid| *pid > 0).map(Asked::Process);
        return pid.ok_or_else(|| {
            Code::BadValue.because(format!("'{target}' is the number of no process"))
        });
    }
    KINDS.iter().find(|kind| kind.is_called(target)).map(Asked::Kind).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Code::UnknownName.because(format!(
            "'{target}' is no kind of server that hopcost knows; known: {}; or give a process's \
             number, or postgres://user@host/database",
            known.join(", ")
        ))
    })
}

pub fn find(root: &Root, machine: &Machine, asked: &Asked) -> Result<Whereabouts, Reason> {
    let ground = Ground::look(root, machine)?;
    let servers = match asked {
        Asked::Process(pid) => vec![by_number(&ground, *pid)?],
        Asked::Kind(kind) => all_of(&ground, kind)?,
    };
    Ok(Whereabouts { version: WHEREABOUTS_VERSION, host: machine.host.clone(), servers })
}

/// The server at the other end of a connection, on any host.
pub fn connected(
    root: &Root,
    machine: &Machine,
    console: &mut dyn Console,
) -> Result<Whereabouts, TargetError> {
    let failed = |error: CallError| TargetError::Failed(error.to_string());
    let told = Told::ask(console).map_err(failed)?;
    // The backend that serves us exists as long as the connection.
    let ground = Ground::look(root, machine).map_err(TargetError::NotHere)?;
    let sameness = Sameness::of(&ground, &told);
    let server = match sameness.server {
        Some(found) => {
            let here = located(&ground, found, Some(&told));
            told.completes(here, sameness.because)
        }
        None => told.alone(machine, sameness.is_here, &sameness.because),
    };
    let servers = vec![server];
    Ok(Whereabouts { version: WHEREABOUTS_VERSION, host: machine.host.clone(), servers })
}

fn by_number(ground: &Ground<'_>, pid: u32) -> Result<Located, Reason> {
    if ground.all.get(pid).is_none() {
        return Err(Code::NotApplicable
            .because(format!("there is no process {pid} here{}", ground.hidden())));
    }
    match ground.servers.iter().find(|found| found.processes.contains(&pid)) {
        Some(found) => Ok(located(ground, found, None)),
        None => Ok(alone(ground, pid)),
    }
}

fn all_of(ground: &Ground<'_>, kind: &Kind) -> Result<Vec<Located>, Reason> {
    let found = ground.servers.iter().filter(|found| found.kind.name == kind.name);
    let servers: Vec<Located> = found.map(|found| located(ground, found, None)).collect();
    if servers.is_empty() {
        return Err(Code::NotApplicable.because(format!(
            "no {} server runs here{}",
            kind.name,
            ground.hidden()
        )));
    }
    Ok(servers)
}

fn located(ground: &Ground<'_>, found: &Found, told: Option<&Told>) -> Located {
    let parts = if postgresql::is_it(found) {
        postgresql::parts(ground, found, told)
    } else {
        found.processes.iter().map(|pid| Part::named(ground.name(*pid), *pid)).collect()
    };
    let instance = Instance::of(ground, found);
    let (processes, shared) = ground.stand(parts, found.pid());
    let remote_clients = remote_clients(ground, found.pid(), &instance.ports);
    Located {
        name: found.kind.name.to_owned(),
        version: found.version(ground.root),
        pid: Known::Is(found.pid()),
        data_directory: instance.data_directory,
        ports: instance.ports,
        sockets: instance.sockets,
        began_s: standing::began_s(ground.root, &standing::of_process(found.pid())),
        host: this_host(ground.machine),
        processes,
        shared,
        remote_clients,
    }
}

fn remote_clients(
    ground: &Ground<'_>,
    pid: u32,
    ports: &Known<BTreeSet<u16>>,
) -> Known<BTreeMap<String, usize>> {
    let of = |ports: &BTreeSet<u16>| sockets::remote_clients(ground.root, pid, ports);
    ports.as_ref().and_then(of)
}

fn alone(ground: &Ground<'_>, pid: u32) -> Located {
    let name = ground.name(pid);
    let doors = instance::doors(ground, &BTreeSet::from([pid]));
    let (processes, shared) = ground.stand(vec![Part::named(name.clone(), pid)], pid);
    let ports = doors.as_ref().map(|doors| doors.ports.clone());
    let missing =
        || Known::missing(Code::NotApplicable, "it is no database server that hopcost knows");
    Located {
        name: name.ok().unwrap_or_else(|| "a process".to_owned()),
        version: missing(),
        pid: Known::Is(pid),
        data_directory: missing(),
        remote_clients: remote_clients(ground, pid, &ports),
        ports,
        sockets: doors.map(|doors| doors.paths),
        began_s: standing::began_s(ground.root, &standing::of_process(pid)),
        host: this_host(ground.machine),
        processes,
        shared,
    }
}

fn this_host(machine: &Machine) -> Host {
    Host {
        name: machine.host.clone(),
        known_by: machine.host.get().map(|_| "this host's own name"),
        address: Known::missing(Code::NotAsked, "the server was not connected to"),
        is_here: Known::Is(true),
        because: None,
    }
}

#[cfg(test)]
mod tests;
