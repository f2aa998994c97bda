//! A machine as text: sockets as boxes with their nodes, cores by shared cache.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hopcost_core::{
    Avoided, Cache, CacheKind, CpuId, CpuSet, DeviceKind, DistanceClass, Known, Limit, Machine,
    Node, NodeId, NodeSet, RungExample,
};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, flow, flow_beside, labelled, pad, pad_left, width};
use crate::layout::{Room, by_core, by_last_cache, cache_label, rooms};
use crate::words::{bytes, figure, plural};

pub fn machine(machine: &Machine, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 120);
    let mut out = headline(machine, columns);
    out.push('\n');
    for room in rooms(machine) {
        out.push_str(&boxed(&room.title, &room_lines(machine, &room, columns - 4), columns));
    }
    let legend = legend(machine);
    if !legend.is_empty() {
        out.push_str(&labelled("", 2, &legend, columns));
    }
    for part in [distances(machine, columns), ladder(machine, columns), caches(machine, columns)] {
        if !part.is_empty() {
            let _ = write!(out, "\n{part}");
        }
    }
    out.push_str(&notes(machine, columns));
    out
}

const INDENT: usize = 9;

fn headline(machine: &Machine, columns: usize) -> String {
    let host = machine.host.get().map_or("machine", String::as_str);
    let cores = machine.one_cpu_per_core(&machine.limits.cpus).len();
    let threads = machine.limits.cpus.len();
    let sockets = machine.sockets.len();
    let nodes: Vec<&Node> = machine.nodes.iter().filter(|node| node.has_memory()).collect();
    let memory_only = nodes.iter().filter(|node| node.is_memory_only()).count();
    let mut what = vec![machine.processor.get().cloned().unwrap_or("unnamed processor".into())];
    what.push(plural(sockets, "socket"));
    what.push(if cores == threads {
        plural(cores, "core")
    } else {
        format!("{}, {}", plural(cores, "core"), plural(threads, "thread"))
    });
    what.push(match memory_only {
        0 => plural(nodes.len(), "memory node"),
        n => format!("{} ({n} without CPUs)", plural(nodes.len(), "memory node")),
    });
    what.push(where_it_runs(machine));
    let mut out = String::new();
    let host_line = pad(&Ink::Strong.on(host), INDENT);
    let room = columns.saturating_sub(INDENT.max(width(host) + 1));
    for (n, line) in flow(&what, " · ", room).iter().enumerate() {
        let head = match n {
            0 if width(host) >= INDENT => format!("{host_line} "),
            0 => host_line.clone(),
            _ => " ".repeat(INDENT),
        };
        let _ = writeln!(out, "{head}{line}");
    }
    out.push_str(&labelled("", INDENT, &limits(machine), columns));
    out
}

fn where_it_runs(machine: &Machine) -> String {
    let hypervisor = machine.virtualization.hypervisor.get();
    let mut text = match (&machine.virtualization.guest, hypervisor) {
        (Known::Is(true), Some(name)) => format!("guest of {name}"),
        (Known::Is(true), None) => "guest".to_owned(),
        (Known::Is(false), _) => "bare metal".to_owned(),
        (Known::Missing(_), _) => "guest or bare metal unknown".to_owned(),
    };
    if let Known::Is(container) = &machine.virtualization.container {
        let _ = write!(text, ", in a container ({container})");
    }
    text
}

fn limits(machine: &Machine) -> String {
    let kernel = machine.kernel.get().map_or(String::new(), |kernel| format!("Linux {kernel} · "));
    let online: CpuSet = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let with_memory: Vec<NodeId> =
        machine.nodes.iter().filter(|node| node.has_memory()).map(|node| node.id).collect();
    let offline: CpuSet = machine.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    let mut parts = Vec::new();
    if !offline.is_empty() {
        parts.push(format!("CPU {offline} off-line"));
    }
    parts.push(if machine.limits.cpus == online {
        if offline.is_empty() { "all CPUs usable" } else { "all others usable" }.to_owned()
    } else {
        format!("CPUs {} usable", machine.limits.cpus)
    });
    if with_memory.iter().any(|&node| !machine.limits.nodes.contains(node)) {
        parts.push(format!("memory of node {} usable", machine.limits.nodes));
    }
    if let Some(quota) = machine.limits.cpu_quota.get().copied().and_then(Limit::at) {
        parts.push(format!("CPU quota {}", figure(quota)));
    }
    if let Some(limit) = machine.limits.memory_bytes.get().copied().and_then(Limit::at) {
        parts.push(format!("memory limit {}", bytes(limit)));
    }
    format!("{kernel}{}", parts.join(" · "))
}

fn room_lines(machine: &Machine, room: &Room<'_>, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut drawn = CpuSet::new();
    for node in &room.nodes {
        lines.extend(node_lines(machine, node, columns));
        let here = node.cpus.intersection(&room.cpus);
        lines.extend(core_lines(machine, &here, columns));
        drawn.extend(here.iter());
    }
    let rest = room.cpus.difference(&drawn);
    if !rest.is_empty() {
        lines.extend(core_lines(machine, &rest, columns));
    }
    lines
}

fn node_lines(machine: &Machine, node: &Node, columns: usize) -> Vec<String> {
    let mut parts = Vec::new();
    if node.has_memory() {
        let total = node.total_bytes.get().copied().map_or("size unknown".to_owned(), bytes);
        let free = node
            .free_bytes
            .get()
            .map_or("free unknown".to_owned(), |&b| format!("{} free", bytes(b)));
        parts.push(format!("{total}, {free}"));
    } else {
        parts.push("no memory".to_owned());
    }
    if !node.usable && node.has_memory() {
        parts.push("not allowed".into());
    }
    parts.extend(node.avoided.map(|why| match why {
        Avoided::GpuMemory => "a GPU's memory".to_owned(),
        Avoided::SharedCpus => "other nodes claim its CPUs".to_owned(),
    }));
    for pool in node.huge_pages.iter().filter(|pool| pool.total > 0) {
        let size = bytes(pool.page_bytes);
        parts.push(format!("{} pages of {size}, {} free", pool.total, pool.free));
    }
    parts.extend(
        node.memory_caches.iter().map(|cache| format!("memory-side cache {}", bytes(cache.bytes))),
    );
    if node.is_memory_only()
        && let Some(near) = nearest_initiators(node)
    {
        parts.push(format!("nearest to node {near} (firmware)"));
    }
    for kind in [DeviceKind::Network, DeviceKind::Nvme] {
        let names: Vec<&str> = machine
            .devices
            .iter()
            .filter(|device| device.kind == kind && device.node == Known::Is(node.id))
            .map(|device| device.name.as_str())
            .collect();
        if !names.is_empty() {
            let label = if kind == DeviceKind::Network { "network" } else { "disk" };
            parts.push(format!("{label} {}", names.join(" ")));
        }
    }
    let label = Ink::Strong.on(&format!("node {}", node.id));
    flow_beside(&label, INDENT, &parts, " · ", columns)
}

/// Nodes with the best firmware rating for a memory, of those with CPUs if any.
fn nearest_initiators(node: &Node) -> Option<String> {
    let rating = node.access1.get().or(node.access0.get())?;
    (!rating.initiators.is_empty()).then(|| rating.initiators.to_string())
}

fn core_lines(machine: &Machine, cpus: &CpuSet, columns: usize) -> Vec<String> {
    let groups = by_last_cache(machine, cpus);
    let label = |cache: Option<&Cache>, group: &CpuSet| {
        cache.map_or("cores".to_owned(), |cache| cache_label(machine, cache, group))
    };
    let widths = groups.iter().map(|(cache, group)| label(*cache, group).chars().count());
    let indent = widths.max().unwrap_or(0) + 4;
    let lines = |(cache, group): (Option<&Cache>, CpuSet)| {
        let head = format!("  {}", label(cache, &group));
        flow_beside(&head, indent, &cores(machine, &group), "  ", columns)
    };
    groups.into_iter().flat_map(lines).collect()
}

/// Larger groups are written as ranges.
const MOST_CORES_ONE_BY_ONE: usize = 16;

/// Threads of each core, `0·96`; long groups as ranges, `0-23 · 96-119`.
fn cores(machine: &Machine, group: &CpuSet) -> Vec<String> {
    let cores = by_core(machine, group);
    if cores.len() <= MOST_CORES_ONE_BY_ONE {
        return cores.iter().map(|core| thread_list(machine, core)).collect();
    }
    runs(&cores).iter().map(|run| run_text(machine, run)).collect()
}

fn thread_list(machine: &Machine, core: &CpuSet) -> String {
    core.iter().map(|id| thread(machine, id)).collect::<Vec<_>>().join("·")
}

fn thread(machine: &Machine, id: CpuId) -> String {
    match machine.cpu(id) {
        Some(cpu) if !cpu.usable => format!("[{id}]"),
        _ => id.to_string(),
    }
}

/// Runs of cores whose thread numbers all grow by one.
fn runs(cores: &[CpuSet]) -> Vec<&[CpuSet]> {
    let follows = |a: &CpuSet, b: &CpuSet| {
        a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| b.0 == a.0 + 1)
    };
    cores.chunk_by(follows).collect()
}

fn run_text(machine: &Machine, run: &[CpuSet]) -> String {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return String::new() };
    let usable =
        run.iter().flat_map(CpuSet::iter).all(|id| machine.cpu(id).is_some_and(|c| c.usable));
    if run.len() == 1 || !usable {
        return run.iter().map(|core| thread_list(machine, core)).collect::<Vec<_>>().join("  ");
    }
    let range = |(a, b): (CpuId, CpuId)| format!("{a}-{b}");
    first.iter().zip(last.iter()).map(range).collect::<Vec<_>>().join(" · ")
}

fn is_drawn_in_runs(machine: &Machine) -> bool {
    let groups = rooms(machine).into_iter().flat_map(|room| {
        let nodes = room.nodes.into_iter().map(move |node| node.cpus.intersection(&room.cpus));
        nodes.flat_map(|cpus| by_last_cache(machine, &cpus))
    });
    groups.into_iter().any(|(_, group)| by_core(machine, &group).len() > MOST_CORES_ONE_BY_ONE)
}

fn legend(machine: &Machine) -> String {
    let mut parts = Vec::new();
    let with_siblings = machine.cpus.iter().find(|cpu| cpu.siblings.len() > 1);
    if let Some(cpu) = with_siblings {
        let threads = plural(cpu.siblings.len(), "thread");
        parts.push(format!("{} = {threads} of one core", thread_list(machine, &cpu.siblings)));
        if is_drawn_in_runs(machine) {
            parts.push(
                "a-b · c-d = CPU a is the SMT sibling of c, and so on up to b and d".to_owned(),
            );
        }
    }
    if machine.cpus.iter().any(|cpu| cpu.online && !cpu.usable) {
        parts.push("[n] = not allowed".to_owned());
    }
    parts.join(",  ")
}

fn boxed(title: &str, lines: &[String], columns: usize) -> String {
    let inner = columns - 4;
    let mut out = String::new();
    let rule = "─".repeat((columns - 5).saturating_sub(title.chars().count()));
    let _ = writeln!(out, "┌─ {} {rule}┐", Ink::Strong.on(title));
    for line in lines {
        let _ = writeln!(out, "│ {} │", pad(line, inner));
    }
    let _ = writeln!(out, "└{}┘", "─".repeat(columns - 2));
    out
}

/// The memories of each node with CPUs, nearest first.
fn distances(machine: &Machine, columns: usize) -> String {
    let distances = &machine.distances;
    let mut classes = distances.classes.iter().flatten();
    if distances.nodes.len() < 2 || !classes.any(|class| class.get().is_some()) {
        return String::new();
    }
    let title = "distance from each node's CPUs to each memory, nearest first";
    let mut out = format!("{}\n", Ink::Strong.on(title));
    let label = distances.nodes.iter().map(|id| format!("node {id}").len()).max().unwrap_or(0) + 2;
    for (row, &from) in distances.nodes.iter().enumerate() {
        let mut groups: BTreeMap<(DistanceClass, Option<u32>), NodeSet> = BTreeMap::new();
        for (column, &to) in distances.nodes.iter().enumerate() {
            if let Known::Is(class) = distances.classes[row][column] {
                groups.entry((class, distances.rated(from, to))).or_default().insert(to);
            }
        }
        let pieces: Vec<String> = groups
            .into_iter()
            .map(|((class, rated), nodes)| {
                let rated = rated.map_or(String::new(), |rated| format!(" ({rated})"));
                format!("{class} {nodes}{rated}")
            })
            .collect();
        for (n, line) in flow(&pieces, " → ", columns.saturating_sub(label + 4)).iter().enumerate()
        {
            let head = if n == 0 { format!("node {from}") } else { "→".to_owned() };
            let _ = writeln!(out, "  {}  {line}", pad_left(&head, label));
        }
    }
    if distances.firmware.get().is_some() {
        let legend = "(n) = the firmware's rating, 10 = local; not a latency";
        out.push_str(&labelled("", 2, &Ink::Faint.on(legend), columns));
    }
    out
}

/// Distance classes of this machine with an example each, and the missing ones.
fn ladder(machine: &Machine, columns: usize) -> String {
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for rung in &machine.distances.ladder {
        match &rung.example {
            Known::Is(RungExample::Cpus(a, b)) if a == b => {
                present.push(format!("{} {a}", rung.class));
            }
            Known::Is(RungExample::Cpus(a, b)) => present.push(format!("{} {a}–{b}", rung.class)),
            Known::Is(RungExample::Memory(cpu, node)) => {
                present.push(format!("{} {cpu}–node {node}", rung.class));
            }
            Known::Missing(_) => absent.push(rung.class.name().to_owned()),
        }
    }
    let mut out = String::new();
    for line in flow_beside(&Ink::Strong.on("classes"), INDENT, &present, " · ", columns) {
        let _ = writeln!(out, "{line}");
    }
    for line in flow(&absent, ", ", columns.saturating_sub(INDENT + 10)) {
        let absent = Ink::Faint.on(&format!("not here: {line}"));
        let _ = writeln!(out, "{}{absent}", " ".repeat(INDENT));
    }
    out
}

fn caches(machine: &Machine, columns: usize) -> String {
    let mut kinds: Vec<(u32, CacheKind, Option<u64>, usize, usize)> = Vec::new();
    for cache in &machine.caches {
        let key = (cache.level, cache.kind, cache.bytes.get().copied(), cache.cpus.len());
        match kinds.iter_mut().find(|k| (k.0, k.1, k.2, k.3) == key) {
            Some(kind) => kind.4 += 1,
            None => kinds.push((key.0, key.1, key.2, key.3, 1)),
        }
    }
    let pieces: Vec<String> = kinds
        .into_iter()
        .map(|(level, kind, size, threads, number)| {
            let letter = match kind {
                CacheKind::Data => "d",
                CacheKind::Instruction => "i",
                CacheKind::Unified => "",
            };
            let size = size.map_or("size unknown".to_owned(), bytes);
            let shared =
                if threads > 1 { format!(" for {threads} threads") } else { String::new() };
            format!("{number} × L{level}{letter} {size}{shared}")
        })
        .collect();
    let mut out = String::new();
    for line in flow_beside(&Ink::Strong.on("caches"), INDENT, &pieces, " · ", columns) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn notes(machine: &Machine, columns: usize) -> String {
    let mut notes = machine.notes.clone();
    if machine.virtualization.guest == Known::Is(true) {
        notes.push(
            "the hypervisor chooses which sockets, caches and SMT siblings a guest sees; to \
             measure them: hopcost probe cores"
                .into(),
        );
    }
    if let Some(kinds) = kinds_of_core(machine) {
        notes.push(kinds);
    }
    let homeless: Vec<&str> = machine
        .devices
        .iter()
        .filter(|device| device.node.get().is_none())
        .map(|device| device.name.as_str())
        .collect();
    if !homeless.is_empty() {
        notes.push(format!("the node of these devices is unknown: {}", homeless.join(", ")));
    }
    let mut out = if notes.is_empty() { String::new() } else { "\n".to_owned() };
    for note in notes {
        out.push_str(&labelled(&Ink::Faint.on("note"), INDENT, &note, columns));
    }
    out
}

fn kinds_of_core(machine: &Machine) -> Option<String> {
    let mut kinds: Vec<(&String, CpuSet)> = Vec::new();
    for cpu in &machine.cpus {
        let Known::Is(kind) = &cpu.kind else { continue };
        match kinds.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, cpus)) => {
                cpus.insert(cpu.id);
            }
            None => kinds.push((kind, CpuSet::from_iter([cpu.id]))),
        }
    }
    let pieces: Vec<String> = kinds.iter().map(|(kind, cpus)| format!("{cpus} ({kind})")).collect();
    (kinds.len() > 1).then(|| format!("different kinds of core: {}", pieces.join(", ")))
}
