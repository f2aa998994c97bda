//! A machine drawn: sockets as rooms, memory nodes in them with their memory as a bar, cores as
//! cells of one square per hardware thread, framed by the last-level cache they share.

use std::fmt::Write as _;

use hopcost_core::{CpuId, CpuSet, DeviceKind, DistanceClass, Known, Machine, Node};

use crate::layout::{Room, by_core, by_last_cache, others_under, rooms};
use crate::number::{bytes, plural};

const PAGE: f64 = 960.0;
const GAP: f64 = 16.0;
const PAD: f64 = 12.0;
const THREAD: (f64, f64) = (30.0, 22.0);
const CORE_GAP: f64 = 6.0;
/// What stands over CPUs of which the kernel describes no cache, off-line ones among them.
const NO_CACHE: &str = "no cache described";
const LINE: f64 = 18.0;

/// The drawing, complete in itself.
pub fn machine(machine: &Machine) -> String {
    let mut top = PAD + 24.0;
    let mut body = text(PAD, top, "head", &title(machine));
    top += LINE;
    body.push_str(&text(PAD, top, "faint", &subtitle(machine)));
    top += GAP;
    let rooms = rooms(machine);
    let across = if rooms.len() == 1 { 1 } else { 2 };
    let width = (PAGE - 2.0 * PAD - GAP * (across as f64 - 1.0)) / across as f64;
    for row in rooms.chunks(across) {
        let drawn: Vec<(String, f64)> =
            row.iter().map(|room| draw_room(machine, room, width)).collect();
        let height = drawn.iter().map(|(_, height)| *height).fold(0.0, f64::max);
        for (n, (inside, _)) in drawn.iter().enumerate() {
            let left = PAD + n as f64 * (width + GAP);
            let _ = write!(
                body,
                r#"<g transform="translate({left:.0} {top:.0})"><rect class="room" width="{width:.0}" height="{height:.0}" rx="8"/>{inside}</g>"#
            );
        }
        top += height + GAP;
    }
    let (table, height) = distances(machine, top);
    body.push_str(&table);
    let legend = "one square = one hardware thread; squares in one frame = one core; \
                  the filled part of a bar = memory in use";
    let end = top + height + GAP;
    body.push_str(&text(PAD, end, "faint", legend));
    wrap(&body, end + PAD, &title(machine), &description(machine))
}

const STYLE: &str = "\
svg{--ground:#fff;--ink:#1b1f24;--faint:#5b6570;--room:#f5f7f9;--line:#c3cbd3;--node:#fff;\
--core:#dbe9f6;--used:#2f6db3;--off:#e6e6e6;--d0:#eef5fb;--d1:#cfe2f3;--d2:#a5c8e8;--d3:#7fb0de;\
--d4:#e9dcc0;font:13px system-ui,sans-serif}\
@media (prefers-color-scheme:dark){svg{--ground:#14171a;--ink:#e8ebee;--faint:#9aa5b0;--room:#1d2227;\
--line:#48525c;--node:#14171a;--core:#23415e;--used:#6aa9e9;--off:#333;--d0:#1b2a38;--d1:#23415e;\
--d2:#2a5480;--d3:#2f6db3;--d4:#5c4a1e}}\
text{fill:var(--ink)}.small{font-size:11px}.head{font-size:17px;font-weight:600}.strong{font-weight:600}.faint{fill:var(--faint)}\
.room{fill:var(--room);stroke:var(--line)}.node{fill:var(--node);stroke:var(--line)}\
.cache{fill:none;stroke:var(--line);stroke-dasharray:3 3}.core{fill:none;stroke:var(--used)}\
.thread{fill:var(--core)}.off{fill:var(--off)}.thread,.off{stroke:var(--node);stroke-width:.7}.bar{fill:var(--core)}.used{fill:var(--used)}\
.d0{fill:var(--d0)}.d1{fill:var(--d1)}.d2{fill:var(--d2)}.d3{fill:var(--d3)}.d4{fill:var(--d4)}.mid{text-anchor:middle}.end{text-anchor:end}";

fn wrap(body: &str, height: f64, title: &str, description: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" viewBox="0 0 {PAGE:.0} {height:.0}" width="{PAGE:.0}" height="{height:.0}"><title id="t">{}</title><desc id="d">{}</desc><style>{STYLE}</style><rect width="{PAGE:.0}" height="{height:.0}" fill="var(--ground)"/>{body}</svg>
"#,
        escape(title),
        escape(description),
    )
}

fn text(x: f64, y: f64, class: &str, content: &str) -> String {
    format!(r#"<text x="{x:.0}" y="{y:.0}" class="{class}">{}</text>"#, escape(content))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn title(machine: &Machine) -> String {
    machine.host.get().map_or("machine", String::as_str).to_owned()
}

fn subtitle(machine: &Machine) -> String {
    let cores = machine.one_cpu_per_core(&machine.limits.cpus).len();
    let processor = machine.processor.get().map_or("unnamed processor", String::as_str);
    format!(
        "{processor} · {} · {} · {} · {}",
        plural(machine.sockets.len(), "socket"),
        plural(cores, "core"),
        plural(machine.limits.cpus.len(), "thread"),
        plural(machine.nodes.iter().filter(|node| node.has_memory()).count(), "memory node"),
    )
}

/// The picture in words, for those who cannot see it.
fn description(machine: &Machine) -> String {
    let mut words = format!("{}. ", subtitle(machine));
    for node in &machine.nodes {
        let memory =
            node.total_bytes.get().copied().filter(|&b| b > 0).map_or("no memory".into(), bytes);
        let cpus =
            if node.cpus.is_empty() { "no CPUs".to_owned() } else { format!("CPUs {}", node.cpus) };
        let _ = write!(words, "Node {}: {memory}, {cpus}. ", node.id);
    }
    words.trim_end().to_owned()
}

/// A room's inside, and its height.
fn draw_room(machine: &Machine, room: &Room<'_>, width: f64) -> (String, f64) {
    let mut top = PAD + 12.0;
    let mut out = text(PAD, top, "strong", &room.title);
    top += 10.0;
    let mut drawn = CpuSet::new();
    for node in &room.nodes {
        let here = node.cpus.intersection(&room.cpus);
        let (inside, height) = node_room(machine, node, &here, width - 2.0 * PAD);
        let _ = write!(out, r#"<g transform="translate({PAD:.0} {top:.0})">{inside}</g>"#);
        top += height + PAD;
        drawn.extend(here.iter());
    }
    let rest = room.cpus.difference(&drawn);
    if !rest.is_empty() {
        let (inside, height) = caches(machine, &rest, width - 2.0 * PAD);
        let _ = write!(out, r#"<g transform="translate({PAD:.0} {top:.0})">{inside}</g>"#);
        top += height + PAD;
    }
    (out, top)
}

fn node_room(machine: &Machine, node: &Node, cpus: &CpuSet, width: f64) -> (String, f64) {
    let mut top = PAD + 10.0;
    let mut out = text(PAD, top, "strong", &format!("node {}", node.id));
    let total = node.total_bytes.get().copied().unwrap_or(0);
    let free = node.free_bytes.get().copied();
    let mut words = match (total, free) {
        (0, _) => "no memory".to_owned(),
        (total, Some(free)) => format!("{}, {} free", bytes(total), bytes(free)),
        (total, None) => bytes(total),
    };
    if !node.usable && total > 0 {
        words.push_str(", not allowed for us");
    }
    let _ = write!(
        out,
        r#"<text x="{:.0}" y="{top:.0}" class="end faint">{}</text>"#,
        width - PAD,
        escape(&words)
    );
    top += 8.0;
    if let (true, Some(free)) = (total > 0, free) {
        let room = width - 2.0 * PAD;
        let used = room * (total - free.min(total)) as f64 / total as f64;
        let _ = write!(
            out,
            r#"<rect class="bar" x="{PAD:.0}" y="{top:.0}" width="{room:.0}" height="6"/><rect class="used" x="{PAD:.0}" y="{top:.0}" width="{used:.0}" height="6"/>"#
        );
        top += 14.0;
    }
    let devices = devices(machine, node);
    if !devices.is_empty() {
        top += 10.0;
        out.push_str(&text(PAD, top, "faint", &devices));
        top += 4.0;
    }
    if !cpus.is_empty() {
        top += 4.0;
        let (inside, height) = caches(machine, cpus, width - 2.0 * PAD);
        let _ = write!(out, r#"<g transform="translate({PAD:.0} {top:.0})">{inside}</g>"#);
        top += height;
    }
    let height = top + PAD;
    (format!(r#"<rect class="node" width="{width:.0}" height="{height:.0}" rx="6"/>{out}"#), height)
}

fn devices(machine: &Machine, node: &Node) -> String {
    let here = machine.devices.iter().filter(|device| device.node == Known::Is(node.id));
    let name = |kind| if kind == DeviceKind::Network { "network" } else { "disk" };
    here.map(|device| format!("{} {}", name(device.kind), device.name))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// The cores among some CPUs, framed by last-level cache; and the height they take.
fn caches(machine: &Machine, cpus: &CpuSet, width: f64) -> (String, f64) {
    let mut out = String::new();
    let mut top = 0.0;
    for (cache, group) in by_last_cache(machine, cpus) {
        let label = cache.map_or(NO_CACHE.to_owned(), |cache| {
            let size = cache.bytes.get().copied().map_or("size unknown".to_owned(), bytes);
            let shared = others_under(machine, cache, &group);
            let shared = if shared.is_empty() { shared } else { format!(" with node {shared}") };
            format!("L{} {size}{shared}", cache.level)
        });
        let (inside, height) = cores(machine, &group, width - 2.0 * CORE_GAP);
        let _ = write!(
            out,
            r#"<g transform="translate(0 {top:.0})"><rect class="cache" width="{width:.0}" height="{:.0}" rx="4"/>{}<g transform="translate({CORE_GAP:.0} {:.0})">{inside}</g></g>"#,
            height + LINE + 8.0,
            text(CORE_GAP, 14.0, "faint", &label),
            LINE + 2.0,
        );
        top += height + LINE + 8.0 + CORE_GAP;
    }
    (out, top)
}

fn cores(machine: &Machine, group: &CpuSet, width: f64) -> (String, f64) {
    let mut out = String::new();
    let (mut left, mut top) = (0.0, 0.0);
    for core in by_core(machine, group) {
        let core_width = core.len() as f64 * THREAD.0;
        if left > 0.0 && left + core_width > width {
            (left, top) = (0.0, top + THREAD.1 + CORE_GAP);
        }
        for (n, thread) in core.iter().enumerate() {
            out.push_str(&thread_square(machine, thread, left + n as f64 * THREAD.0, top));
        }
        let _ = write!(
            out,
            r#"<rect class="core" x="{left:.0}" y="{top:.0}" width="{core_width:.0}" height="{:.0}" rx="3"/>"#,
            THREAD.1
        );
        left += core_width + CORE_GAP;
    }
    (out, top + THREAD.1 + CORE_GAP)
}

fn thread_square(machine: &Machine, id: CpuId, x: f64, y: f64) -> String {
    let usable = machine.cpu(id).is_some_and(|cpu| cpu.usable);
    let class = if usable { "thread" } else { "off" };
    format!(
        r#"<rect class="{class}" x="{x:.0}" y="{y:.0}" width="{:.0}" height="{:.0}"/><text x="{:.0}" y="{:.0}" class="mid">{id}</text>"#,
        THREAD.0,
        THREAD.1,
        x + THREAD.0 / 2.0,
        y + 15.0
    )
}

/// The firmware's ratings with the class of each pair; and the height they take.
fn distances(machine: &Machine, top: f64) -> (String, f64) {
    let ids = &machine.distances.nodes;
    if ids.len() < 2 {
        return (String::new(), 0.0);
    }
    let (cell, label) = ((120.0f64).min((PAGE - 2.0 * PAD - 80.0) / ids.len() as f64), 80.0);
    let mut y = top + 14.0;
    let heading = "from a node's CPUs to each memory: class, and the firmware's rating (10 = local, never a latency)";
    let mut out = text(PAD, y, "strong", heading);
    y += LINE;
    for (column, id) in ids.iter().enumerate() {
        let x = PAD + label + (column as f64 + 0.5) * cell;
        out.push_str(&text(x, y, "mid faint", &format!("node {id}")));
    }
    y += 6.0;
    for (row, &from) in ids.iter().enumerate() {
        if machine.node(from).is_none_or(|node| node.cpus.is_empty()) {
            continue;
        }
        out.push_str(&text(PAD, y + 16.0, "faint", &format!("node {from}")));
        for (column, &to) in ids.iter().enumerate() {
            let class = machine.distances.classes[row][column].get().copied();
            let rated = machine.distances.rated(from, to);
            let rating = rated.map_or(String::new(), |rated| format!(" ({rated})"));
            let name = class.map_or("–", |class| short(class, cell));
            let x = PAD + label + column as f64 * cell;
            let _ = write!(
                out,
                r#"<rect class="{}" x="{x:.0}" y="{y:.0}" width="{:.0}" height="22"/>{}"#,
                class.map_or("off", shade),
                cell - 2.0,
                text(x + cell / 2.0, y + 15.0, "mid small", &format!("{name}{rating}"))
            );
        }
        y += 24.0;
    }
    (out, y - top)
}

/// Farther is darker; memory without CPUs has a colour of its own.
fn shade(class: DistanceClass) -> &'static str {
    match class {
        DistanceClass::SameCpu
        | DistanceClass::Sibling
        | DistanceClass::SameL3
        | DistanceClass::SameNode => "d0",
        DistanceClass::SameSocket => "d1",
        DistanceClass::OtherSocket => "d2",
        DistanceClass::FarSocket => "d3",
        DistanceClass::MemoryOnly => "d4",
    }
}

/// The class's name, or nothing where it has no room beside the rating.
fn short(class: DistanceClass, cell: f64) -> &'static str {
    if cell >= 100.0 { class.name() } else { "" }
}
