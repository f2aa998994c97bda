//! A table of a server's processes, their CPUs and their memory.

use std::fmt::Write as _;

use hopcost_core::{
    BytesByNode, CpuSet, Known, Located, NodeId, NodeSet, Reason, Standing, Threads,
};

use super::memory::{add, largest, of_nodes, percent, private};
use crate::text::ink::Ink;
use crate::text::wrap::{labelled, pad, pad_left, width};
use crate::words::bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Text(String),
    Missing(Reason),
    Blank,
}

impl<T: ToString> From<&Known<T>> for Cell {
    fn from(known: &Known<T>) -> Self {
        match known {
            Known::Is(value) => Self::Text(value.to_string()),
            Known::Missing(reason) => Self::Missing(reason.clone()),
        }
    }
}

const HEADS: [&str; 8] = ["role", "pid", "CPUs", "last CPU", "node", "policy", "private", "shared"];
const PID: usize = 1;
const NODE: usize = 4;
const POLICY: usize = 5;
const PRIVATE: usize = 6;
const SHARED: usize = 7;

type Row = [Cell; HEADS.len()];

pub struct Table {
    rows: Vec<Row>,
    nodes: NodeSet,
}

/// Processes that differ only in number and memory.
struct Alike<'a> {
    first: &'a Standing,
    pids: Vec<u32>,
    last: CpuSet,
    private: Known<BytesByNode>,
    /// Of the process that touched most of the shared memory.
    shared: Known<BytesByNode>,
}

impl Table {
    pub fn of(server: &Located) -> Self {
        let places = server.processes.iter().flat_map(|process| {
            process.private_by_node.get().into_iter().chain(process.shared_by_node.get())
        });
        let nodes = places.flat_map(largest).map(|(node, _)| node).collect();
        let mut table = Self { rows: Vec::new(), nodes };
        for alike in alike(&server.processes) {
            table.rows.push(table.row(&alike));
            table.rows.extend(alike.first.threads.iter().map(thread_row));
        }
        let is_shown = |process: &Standing| process.private_by_node.get().is_some();
        if server.processes.len() > 1 && server.processes.iter().any(is_shown) {
            let mut all = [const { Cell::Blank }; HEADS.len()];
            all[0] = Cell::Text("total, shared memory once".to_owned());
            all[PRIVATE] = table.bytes(&private(&server.processes));
            all[SHARED] = table.bytes(&server.shared.as_ref().map(|shared| shared.by_node.clone()));
            table.rows.push(all);
        }
        table
    }

    fn row(&self, alike: &Alike<'_>) -> Row {
        let first = alike.first;
        let role = match (&first.role, alike.pids.len()) {
            (Known::Is(_), 1) => Cell::Text(role(first)),
            (Known::Is(_), times) => Cell::Text(format!("{times} × {}", role(first))),
            (Known::Missing(reason), _) => Cell::Missing(reason.clone()),
        };
        let last = match &first.last_cpu {
            Known::Is(_) => Cell::Text(alike.last.to_string()),
            Known::Missing(reason) => Cell::Missing(reason.clone()),
        };
        [
            role,
            Cell::Text(numbers(&alike.pids)),
            Cell::from(&first.cpus),
            last,
            Cell::from(&first.node),
            Cell::from(&first.policy),
            self.bytes(&alike.private),
            self.bytes(&alike.shared),
        ]
    }

    fn bytes(&self, by_node: &Known<BytesByNode>) -> Cell {
        Cell::from(&by_node.as_ref().map(|by_node| self.amount(by_node)))
    }

    /// `12 MiB` on one node, `12 MiB 62/38` on several, `12 MiB: 9% on 7, …` on many.
    fn amount(&self, by_node: &BytesByNode) -> String {
        const NAMED: usize = 3;
        let all: u64 = by_node.values().sum();
        let size = bytes(all);
        if all == 0 || self.nodes.len() == 1 {
            return size;
        }
        if self.has_shares() {
            let part = |node: NodeId| by_node.get(&node).copied().unwrap_or(0);
            let shares = self.nodes.iter().map(|node| percent(part(node), all).to_string());
            return format!("{size} {}", shares.collect::<Vec<_>>().join("/"));
        }
        let parts = largest(by_node);
        let named = parts.iter().take(NAMED);
        let named = named.map(|(node, part)| format!("{}% on {node}", percent(*part, all)));
        let more = if parts.len() > NAMED { ", …" } else { "" };
        format!("{size}: {}{more}", named.collect::<Vec<_>>().join(", "))
    }

    /// Few enough nodes to list shares side by side?
    fn has_shares(&self) -> bool {
        (2..=4).contains(&self.nodes.len())
    }

    /// `0/1`
    fn names(&self) -> String {
        self.nodes.iter().map(|node| node.to_string()).collect::<Vec<_>>().join("/")
    }

    fn head(&self, column: usize) -> String {
        let has_shares = self.has_shares() && [PRIVATE, SHARED].contains(&column);
        let head = HEADS[column];
        if has_shares { format!("{head} {}%", self.names()) } else { head.to_owned() }
    }

    pub fn draw(&self, columns: usize) -> String {
        let uniform =
            |column: &usize| [NODE, POLICY].contains(column) && self.same(*column).is_some();
        let shown: Vec<usize> = (0..HEADS.len())
            .filter(|column| !self.is_missing(*column) && !uniform(column))
            .collect();
        let reasons = self.reasons(&shown);
        let widths: Vec<usize> =
            shown.iter().map(|column| self.width_of(*column, &reasons)).collect();
        let all: usize = widths.iter().map(|width| width + 2).sum();
        let beside =
            if all <= columns { shown.len() } else { shown.partition_point(|c| *c < POLICY) };
        let mut out = String::new();
        let heads: Vec<String> = shown.iter().map(|column| self.head(*column)).collect();
        let head = line(&shown[..beside], &widths, &heads);
        let _ = writeln!(out, "{}", Ink::Faint.on(&head));
        for row in &self.rows {
            let texts: Vec<String> = shown.iter().map(|c| text(&row[*c], &reasons)).collect();
            let _ = writeln!(out, "{}", line(&shown[..beside], &widths, &texts));
            let below = heads.iter().zip(&texts).skip(beside).filter(|(_, text)| !text.is_empty());
            let below: Vec<String> = below.map(|(head, text)| format!("{head} {text}")).collect();
            if !below.is_empty() {
                out.push_str(&labelled("", 6, &Ink::Faint.on(&below.join(" · ")), columns));
            }
        }
        out + &self.foot(&reasons, columns)
    }

    fn foot(&self, reasons: &[Reason], columns: usize) -> String {
        let mut out = String::new();
        let node = self.same(NODE).map(|node| format!("last on node {node}"));
        let policy = self.same(POLICY).map(|policy| format!("policy {policy}"));
        let memory = (self.nodes.len() == 1).then(|| format!("memory on node {}", self.nodes));
        let all: Vec<String> = [node, policy, memory].into_iter().flatten().collect();
        if !all.is_empty() {
            out.push_str(&labelled("  all of them", 15, &all.join(", "), columns));
        }
        if self.has_shares() {
            let names = self.names();
            let text = format!("percent of the memory on {}", of_nodes(&self.nodes));
            out.push_str(&labelled(&format!("  {names}%"), 15, &text, columns));
        }
        for (n, reason) in reasons.iter().enumerate() {
            let label = format!("  – ({})", n + 1);
            out.push_str(&labelled(&label, 8, &format!("missing, because {reason}"), columns));
        }
        let mut dropped: Vec<(&Reason, Vec<&str>)> = Vec::new();
        for column in (0..HEADS.len()).filter(|column| self.is_missing(*column)) {
            let Some(Cell::Missing(reason)) = self.rows.first().map(|row| &row[column]) else {
                continue;
            };
            match dropped.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(HEADS[column]),
                None => dropped.push((reason, vec![HEADS[column]])),
            }
        }
        for (reason, names) in dropped {
            let text = format!("{}: missing, because {reason}", names.join(", "));
            out.push_str(&labelled("", 2, &Ink::Faint.on(&text), columns));
        }
        out
    }

    fn is_missing(&self, column: usize) -> bool {
        let mut filled =
            self.rows.iter().map(|row| &row[column]).filter(|cell| **cell != Cell::Blank);
        let first = filled.next();
        matches!(first, Some(Cell::Missing(_))) && filled.all(|cell| Some(cell) == first)
    }

    fn same(&self, column: usize) -> Option<&str> {
        let mut filled =
            self.rows.iter().map(|row| &row[column]).filter(|cell| **cell != Cell::Blank);
        let first = filled.next();
        match first {
            Some(Cell::Text(text)) if filled.all(|cell| Some(cell) == first) => Some(text),
            _ => None,
        }
    }

    fn reasons(&self, shown: &[usize]) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for cell in self.rows.iter().flat_map(|row| shown.iter().map(|column| &row[*column])) {
            if let Cell::Missing(reason) = cell
                && !reasons.contains(reason)
            {
                reasons.push(reason.clone());
            }
        }
        reasons
    }

    fn width_of(&self, column: usize, reasons: &[Reason]) -> usize {
        let cells = self.rows.iter().map(|row| width(&text(&row[column], reasons)));
        cells.max().unwrap_or(0).max(width(&self.head(column)))
    }
}

/// Groups processes by role, CPUs, node and policy, in order of first appearance.
fn alike(processes: &[Standing]) -> Vec<Alike<'_>> {
    let mut all: Vec<Alike<'_>> = Vec::new();
    for process in processes {
        let twin = all.iter_mut().find(|alike| is_alike(alike.first, process));
        let Some(twin) = twin else {
            all.push(Alike {
                first: process,
                pids: vec![process.pid],
                last: process.last_cpu.get().copied().into_iter().collect(),
                private: process.private_by_node.clone(),
                shared: process.shared_by_node.clone(),
            });
            continue;
        };
        twin.pids.push(process.pid);
        twin.last.extend(process.last_cpu.get().copied());
        if let (Known::Is(sum), Known::Is(more)) = (&mut twin.private, &process.private_by_node) {
            add(sum, more);
        }
        if let (Known::Is(most), Known::Is(more)) = (&mut twin.shared, &process.shared_by_node)
            && more.values().sum::<u64>() > most.values().sum()
        {
            most.clone_from(more);
        }
    }
    all
}

/// Unknown values differ, unless both are unreadable for the same reason.
fn is_alike(one: &Standing, other: &Standing) -> bool {
    let is_known = |process: &Standing| process.role.get().is_some() && process.threads.is_empty();
    let is_shown = |process: &Standing| process.private_by_node.reason().cloned();
    is_known(one)
        && is_known(other)
        && (&one.role, one.leader) == (&other.role, other.leader)
        && (&one.cpus, &one.node, &one.policy) == (&other.cpus, &other.node, &other.policy)
        && is_shown(one) == is_shown(other)
}

fn role(process: &Standing) -> String {
    let role = process.role.get().cloned().unwrap_or_default();
    process.leader.map_or(role.clone(), |leader| format!("{role} of {leader}"))
}

/// Threads of one name. Memory is that of the process.
fn thread_row(threads: &Threads) -> Row {
    let name = match threads.tids.len() {
        1 => threads.name.clone(),
        times => format!("{times} × {}", threads.name),
    };
    [
        Cell::Text(format!("  {name}")),
        Cell::Text(numbers(&threads.tids)),
        Cell::from(&threads.cpus),
        Cell::Text(threads.last_cpus.to_string()),
        Cell::Text(threads.last_nodes.to_string()),
        Cell::Blank,
        Cell::Blank,
        Cell::Blank,
    ]
}

/// `4711`, `4711 …`
fn numbers(pids: &[u32]) -> String {
    match pids {
        [one] => one.to_string(),
        [first, ..] => format!("{first} …"),
        [] => String::new(),
    }
}

fn text(cell: &Cell, reasons: &[Reason]) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Blank => String::new(),
        Cell::Missing(reason) => {
            let place = reasons.iter().position(|known| known == reason);
            place.map_or("–".to_owned(), |n| format!("– ({})", n + 1))
        }
    }
}

fn line(columns: &[usize], widths: &[usize], texts: &[String]) -> String {
    let mut out = String::new();
    for ((column, width), text) in columns.iter().zip(widths).zip(texts) {
        let text = if *column == PID { pad_left(text, *width) } else { pad(text, *width) };
        let _ = write!(out, "  {text}");
    }
    out.trim_end().to_owned()
}
