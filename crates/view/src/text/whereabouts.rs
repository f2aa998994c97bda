//! Where a running database is: one sentence and a table of its processes.

mod memory;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hopcost_core::{BytesByNode, CpuSet, Known, Located, Machine, NodeSet, Reason, Whereabouts};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, prose};
use crate::words::{bytes, plural};
use memory::{largest, of_nodes, percent, private};
use table::Table;

/// `machine` is this host.
pub fn whereabouts(found: &Whereabouts, machine: &Machine, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 120);
    let mut out = String::new();
    if let [first, _, ..] = &found.servers[..] {
        let host = found.host.get().map_or(String::new(), |host| format!(", {host}"));
        let count = plural(found.servers.len(), &format!("{} server", first.name));
        let _ = writeln!(out, "{}\n", Ink::Strong.on(&format!("{count} run on this host{host}.")));
    }
    let servers: Vec<String> = found.servers.iter().map(|server| one(server, columns)).collect();
    out.push_str(&servers.join("\n"));
    let is_here = found.servers.iter().any(|server| server.host.is_here == Known::Is(true));
    if is_here && machine.nodes_with_memory().count() == 1 {
        let host = match machine.virtualization.guest.get() {
            Some(true) => {
                " A guest does not see the nodes of its host: 'hopcost probe cores' measures which CPUs \
                 are near."
            }
            _ => "",
        };
        let text = format!(
            "In one place: this machine has one memory node, so there is nothing to bind to.{host}"
        );
        out.push_str(&labelled("", 0, &text, columns));
    }
    out
}

fn one(server: &Located, columns: usize) -> String {
    let mut out = String::new();
    for line in prose(&sentence(server), columns) {
        let _ = writeln!(out, "{}", Ink::Strong.on(&line));
    }
    let remark = remark(server);
    if !remark.is_empty() {
        out.push_str(&labelled("", 2, &Ink::Faint.on(&remark), columns));
    }
    if let Some(network) = network(server) {
        out.push_str(&labelled("", 2, &network, columns));
    }
    let table = Table::of(server);
    let _ = write!(out, "\n{}", table.draw(columns));
    out
}

/// `PostgreSQL 15.18 (pid 4711, /var/lib/…, port 5432) runs on this host, db1: …`
fn sentence(server: &Located) -> String {
    let who = who(server);
    let host = server.host.name.get().map_or(String::new(), |name| format!(", {name}"));
    let count = count(server);
    let name = &server.name;
    match &server.host.is_here {
        Known::Is(true) => {
            format!("{who} runs on this host{host}: {count}{}{}", stand(server), memory(server))
        }
        Known::Is(false) => {
            let address = server.host.address.get();
            let address = address.map_or(String::new(), |address| format!(" ({address})"));
            format!(
                "{who} runs on another host{host}{address}. To see its {count}, run 'hopcost where {name}' \
                 there"
            )
        }
        Known::Missing(_) => {
            format!("{who} answers, but its host is unknown; it reports {count}")
        }
    }
}

/// How its host was determined, unless that is obvious.
fn remark(server: &Located) -> String {
    let host = &server.host;
    let mut pieces = Vec::new();
    if let (Known::Is(false), Some(way)) = (&host.is_here, host.known_by) {
        pieces.push(format!("the host's name is {way}"));
    } else if let (Known::Is(false), Known::Missing(reason)) = (&host.is_here, &host.name) {
        pieces.push(format!("the host's name is unknown: {reason}"));
    }
    pieces.extend(host.because.clone());
    pieces.join("; ")
}

/// Whatever comes or goes over a network was not measured.
fn network(server: &Located) -> Option<String> {
    const NAMED: usize = 3;
    if server.host.is_here == Known::Is(false) {
        let other = server.host.address.get().or(server.host.name.get());
        let other = other.map_or("that host", String::as_str);
        return Some(format!("The network between this host and {other} was not measured."));
    }
    let clients = server.remote_clients.get().filter(|clients| !clients.is_empty())?;
    let count = plural(clients.values().sum(), "connection");
    let mut named: Vec<String> = clients.keys().take(NAMED).cloned().collect();
    if clients.len() > NAMED {
        named.push(format!("{} more", clients.len() - NAMED));
    }
    let named = and(&named);
    Some(format!("{count} over a network, from {named}: that network was not measured."))
}

/// `PostgreSQL 15.18 (pid 4711, /var/lib/postgresql/15/main, port 5432)`
fn who(server: &Located) -> String {
    let version = server.version.get().map_or(String::new(), |version| format!(" {version}"));
    let doors = server.ports.get().filter(|ports| !ports.is_empty()).map(|ports| {
        let numbers: Vec<String> = ports.iter().map(ToString::to_string).collect();
        format!("{} {}", if numbers.len() == 1 { "port" } else { "ports" }, and(&numbers))
    });
    let socket = || server.sockets.get().and_then(BTreeSet::first).cloned();
    let pid = server.pid.get().map(|pid| format!("pid {pid}"));
    let told = [pid, server.data_directory.get().cloned(), doors.or_else(socket)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() {
        return format!("{}{version}", server.name);
    }
    format!("{}{version} ({})", server.name, told.join(", "))
}

fn count(server: &Located) -> String {
    let threads: usize =
        server.processes.iter().flat_map(|process| &process.threads).map(|t| t.tids.len()).sum();
    let number = server.processes.len();
    let processes = format!("{number} {}", if number == 1 { "process" } else { "processes" });
    if threads == 0 { processes } else { format!("{processes} with {}", plural(threads, "thread")) }
}

/// ` on CPUs 0-15 of nodes 0 and 1`
fn stand(server: &Located) -> String {
    let (mut cpus, mut nodes) = (CpuSet::new(), NodeSet::new());
    for process in &server.processes {
        let threads = process.threads.iter();
        let masks = threads.clone().map(|threads| &threads.cpus).chain([&process.cpus]);
        masks.filter_map(Known::get).for_each(|mask| cpus.extend(mask.iter()));
        let homes = threads.map(|threads| &threads.nodes).chain([&process.nodes]);
        homes.filter_map(Known::get).for_each(|home| nodes.extend(home.iter()));
    }
    let missing = server.processes.iter().find_map(|process| process.cpus.reason());
    match (cpus.len(), missing) {
        (0, Some(reason)) => format!("; their CPUs are unknown: {reason}"),
        (0, None) => String::new(),
        (1, _) => format!(" on CPU {cpus} of {}", of_nodes(&nodes)),
        _ => format!(" on CPUs {cpus} of {}", of_nodes(&nodes)),
    }
}

/// A larger part counts as all of the shared memory.
const ALL_BUT: f64 = 0.95;

/// `; its shared memory, 3.9 GiB, is 62% on node 0`; all its memory if it shares none.
fn memory(server: &Located) -> String {
    let missing = |reason: &Reason| format!("; the nodes of its memory are unknown: {reason}");
    let shared = match &server.shared {
        Known::Is(shared) => shared,
        // Already reported if nothing is visible.
        Known::Missing(reason) if is_unseen(server, reason) => return String::new(),
        Known::Missing(reason) => return missing(reason),
    };
    let touched: u64 = shared.by_node.values().sum();
    if touched == 0 {
        return match private(&server.processes) {
            Known::Is(own) => {
                format!("; its memory, {}, is {}", bytes(own.values().sum()), most(&own))
            }
            Known::Missing(reason) => missing(&reason),
        };
    }
    let size = match shared.bytes {
        Known::Is(all) if touched as f64 >= ALL_BUT * all as f64 => bytes(all),
        Known::Is(all) => format!("{} ({} of it touched)", bytes(all), bytes(touched)),
        Known::Missing(_) => format!("{} of it touched", bytes(touched)),
    };
    format!("; its shared memory, {size}, is {}", most(&shared.by_node))
}

fn is_unseen(server: &Located, reason: &Reason) -> bool {
    server.processes.iter().all(|process| process.cpus.reason() == Some(reason))
}

fn most(by_node: &BytesByNode) -> String {
    let all: u64 = by_node.values().sum();
    let parts = largest(by_node);
    match parts[..] {
        [] => "nowhere".to_owned(),
        [(node, _)] => format!("on node {node}"),
        _ => {
            let named = parts.iter().take(2);
            let named: Vec<String> = named
                .map(|(node, part)| format!("{}% on node {node}", percent(*part, all)))
                .collect();
            format!("{}{}", named.join(", "), if parts.len() > 2 { ", …" } else { "" })
        }
    }
}

/// `1`, `1 and 2`, `1, 2 and 3`
fn and(words: &[String]) -> String {
    match words {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests;
