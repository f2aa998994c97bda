//! Draws a machine: sockets as rooms, nodes with memory bars, cores framed by last-level cache.

use std::fmt::Write as _;

use hopcost_core::{CpuId, CpuSet, DeviceKind, DistanceClass, Known, Machine, Node};

use crate::layout::{Room, by_core, by_last_cache, cache_label, rooms};
use crate::words::{bytes, plural};
use crate::xml::escape;

const GAP: f64 = 16.0;
const PAD: f64 = 12.0;
const CORE_GAP: f64 = 6.0;
/// Label of CPUs without a known cache, such as off-line ones.
const NO_CACHE: &str = "no cache described";
const LINE: f64 = 18.0;
/// Estimated, since the font is unknown.
const LETTER: f64 = 7.6;

struct Form {
    /// Makes ids unique within a document.
    id: &'static str,
    width: f64,
    thread: (f64, f64),
    is_numbered: bool,
    /// With a title, a table of distances and a legend?
    is_complete: bool,
    /// Rooms side by side, and nodes side by side in a room with many.
    abreast: (usize, usize),
}

/// Limit for CPU numbers in the small drawing.
const FEW_CPUS: usize = 32;
/// Limit for squares of full size.
const MANY_CPUS: usize = 128;
/// With more nodes in a room the small drawing puts them side by side.
const FEW_NODES: usize = 2;

pub fn machine(machine: &Machine) -> String {
    let form = Form {
        id: "machine",
        width: 960.0,
        thread: (30.0, 22.0),
        is_numbered: true,
        is_complete: true,
        abreast: (2, 1),
    };
    Drawing { machine, form }.draw()
}

/// A small drawing, half as wide, for a page that also describes the machine in words.
pub fn overview(machine: &Machine) -> String {
    let cpus = machine.cpus.len();
    let (thread, is_numbered) = match cpus {
        n if n <= FEW_CPUS => ((30.0, 22.0), true),
        n if n <= MANY_CPUS => ((12.0, 12.0), false),
        _ => ((8.0, 8.0), false),
    };
    let (id, width) = ("overview", 480.0);
    let form = Form { id, width, thread, is_numbered, is_complete: false, abreast: (1, 2) };
    Drawing { machine, form }.draw()
}

// Scoped: style rules of an inline SVG apply to the whole page.
const STYLE: &str = "\
.machine{--ground:#fff;--ink:#1b1f24;--faint:#5b6570;--room:#f5f7f9;--line:#c3cbd3;--node:#fff;\
--core:#dbe9f6;--used:#2f6db3;--off:#e6e6e6;--d0:#eef5fb;--d1:#cfe2f3;--d2:#a5c8e8;--d3:#7fb0de;\
--d4:#e9dcc0;font:13px system-ui,sans-serif}\
@media screen and (prefers-color-scheme:dark){.machine{--ground:#14171a;--ink:#e8ebee;--faint:#9aa5b0;--room:#1d2227;\
--line:#48525c;--node:#14171a;--core:#23415e;--used:#6aa9e9;--off:#333;--d0:#1b2a38;--d1:#23415e;\
--d2:#2a5480;--d3:#2f6db3;--d4:#5c4a1e}}\
.machine .ground{fill:var(--ground)}.machine text{fill:var(--ink)}.machine .small{font-size:11px}\
.machine .head{font-size:17px;font-weight:600}.machine .strong{font-weight:600}\
.machine .faint{fill:var(--faint)}.machine .room{fill:var(--room);stroke:var(--line)}\
.machine .node{fill:var(--node);stroke:var(--line)}\
.machine .cache{fill:none;stroke:var(--line);stroke-dasharray:3 3}\
.machine .core{fill:none;stroke:var(--used)}.machine .thread{fill:var(--core)}\
.machine .off{fill:var(--off)}.machine .thread,.machine .off{stroke:var(--node);stroke-width:.7}\
.machine .bar{fill:var(--core)}.machine .used{fill:var(--used)}.machine .d0{fill:var(--d0)}\
.machine .d1{fill:var(--d1)}.machine .d2{fill:var(--d2)}.machine .d3{fill:var(--d3)}\
.machine .d4{fill:var(--d4)}.machine .mid{text-anchor:middle}.machine .end{text-anchor:end}";

struct Drawing<'a> {
    machine: &'a Machine,
    form: Form,
}

impl Drawing<'_> {
    fn draw(&self) -> String {
        let (mut body, mut top) = (String::new(), 1.0);
        if self.form.is_complete {
            top = PAD + 24.0;
            body.push_str(&text(PAD, top, "head", &title(self.machine)));
            top += LINE;
            body.push_str(&text(PAD, top, "faint", &subtitle(self.machine)));
            top += GAP;
        }
        let margin = if self.form.is_complete { PAD } else { 1.0 };
        let rooms = rooms(self.machine);
        let across = if rooms.len() == 1 { 1 } else { self.form.abreast.0 };
        let width = (self.form.width - 2.0 * margin - GAP * (across as f64 - 1.0)) / across as f64;
        for row in rooms.chunks(across) {
            let drawn: Vec<(String, f64)> = row.iter().map(|room| self.room(room, width)).collect();
            let height = drawn.iter().map(|(_, height)| *height).fold(0.0, f64::max);
            for (n, (inside, _)) in drawn.iter().enumerate() {
                let left = margin + n as f64 * (width + GAP);
                let _ = write!(
                    body,
                    r#"<g transform="translate({left:.0} {top:.0})"><rect class="room" width="{width:.0}" height="{height:.0}" rx="8"/>{inside}</g>"#
                );
            }
            top += height + GAP;
        }
        if !self.form.is_complete {
            return self.wrap(&body, top - GAP + 1.0);
        }
        let (table, height) = self.distances(top);
        body.push_str(&table);
        let legend = "one square = one hardware thread; squares in one frame = one core; \
                      the filled part of a bar = memory in use";
        let end = top + height + GAP;
        body.push_str(&text(PAD, end, "faint", legend));
        self.wrap(&body, end + PAD)
    }

    fn wrap(&self, body: &str, height: f64) -> String {
        let Form { id, width, .. } = self.form;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="machine" role="img" aria-labelledby="{id}-title {id}-words" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}"><title id="{id}-title">{}</title><desc id="{id}-words">{}</desc><style>{STYLE}</style><rect class="ground" width="{width:.0}" height="{height:.0}"/>{body}</svg>
"#,
            escape(&title(self.machine)),
            escape(&description(self.machine)),
        )
    }

    fn room(&self, room: &Room<'_>, width: f64) -> (String, f64) {
        let mut top = PAD + 12.0;
        let mut out = text(PAD, top, "strong", &room.title);
        top += 10.0;
        let mut drawn = CpuSet::new();
        let abreast = if room.nodes.len() > FEW_NODES { self.form.abreast.1 } else { 1 };
        let node_width = (width - PAD * (abreast as f64 + 1.0)) / abreast as f64;
        for row in room.nodes.chunks(abreast) {
            let mut tallest: f64 = 0.0;
            for (n, node) in row.iter().enumerate() {
                let here = node.cpus.intersection(&room.cpus);
                let (inside, height) = self.node(node, &here, node_width);
                let left = PAD + n as f64 * (node_width + PAD);
                let _ = write!(out, r#"<g transform="translate({left:.0} {top:.0})">{inside}</g>"#);
                tallest = tallest.max(height);
                drawn.extend(here.iter());
            }
            top += tallest + PAD;
        }
        let rest = room.cpus.difference(&drawn);
        if !rest.is_empty() {
            let (inside, height) = self.caches(&rest, width - 2.0 * PAD);
            let _ = write!(out, r#"<g transform="translate({PAD:.0} {top:.0})">{inside}</g>"#);
            top += height + PAD;
        }
        (out, top)
    }

    fn node(&self, node: &Node, cpus: &CpuSet, width: f64) -> (String, f64) {
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
        let devices = devices(self.machine, node);
        if !devices.is_empty() {
            top += 10.0;
            out.push_str(&text(PAD, top, "faint", &devices));
            top += 4.0;
        }
        if !cpus.is_empty() {
            top += 4.0;
            let (inside, height) = self.caches(cpus, width - 2.0 * PAD);
            let _ = write!(out, r#"<g transform="translate({PAD:.0} {top:.0})">{inside}</g>"#);
            top += height;
        }
        let height = if self.form.is_complete { top + PAD } else { top + CORE_GAP };
        let frame =
            format!(r#"<rect class="node" width="{width:.0}" height="{height:.0}" rx="6"/>"#);
        (frame + &out, height)
    }

    /// Cores framed by last-level cache. Returns the height.
    fn caches(&self, cpus: &CpuSet, width: f64) -> (String, f64) {
        let mut out = String::new();
        let (mut left, mut top, mut tallest) = (0.0, 0.0, 0.0f64);
        for (cache, group) in by_last_cache(self.machine, cpus) {
            let label =
                cache.map_or(NO_CACHE.to_owned(), |it| cache_label(self.machine, it, &group));
            let frame = self.frame_width(&group, &label).min(width);
            if left > 0.0 && left + frame > width {
                (left, top, tallest) = (0.0, top + tallest + CORE_GAP, 0.0);
            }
            let (inside, height) = self.cores(&group, frame - 2.0 * CORE_GAP);
            let height = height + LINE + 8.0;
            let _ = write!(
                out,
                r#"<g transform="translate({left:.0} {top:.0})"><rect class="cache" width="{frame:.0}" height="{height:.0}" rx="4"/>{}<g transform="translate({CORE_GAP:.0} {:.0})">{inside}</g></g>"#,
                text(CORE_GAP, 14.0, "faint", &label),
                LINE + 2.0,
            );
            left += frame + CORE_GAP;
            tallest = tallest.max(height);
        }
        (out, top + tallest + CORE_GAP)
    }

    /// In the complete drawing each frame has its own row.
    fn frame_width(&self, group: &CpuSet, label: &str) -> f64 {
        if self.form.is_complete {
            return f64::INFINITY;
        }
        let cores = by_core(self.machine, group);
        let core = |core: &CpuSet| core.len() as f64 * self.form.thread.0 + CORE_GAP;
        let inside: f64 = cores.iter().map(core).sum();
        (inside + CORE_GAP).max(label.chars().count() as f64 * LETTER + 2.0 * CORE_GAP)
    }

    fn cores(&self, group: &CpuSet, width: f64) -> (String, f64) {
        let (thread_width, thread_height) = self.form.thread;
        let mut out = String::new();
        let (mut left, mut top) = (0.0, 0.0);
        for core in by_core(self.machine, group) {
            let core_width = core.len() as f64 * thread_width;
            if left > 0.0 && left + core_width > width {
                (left, top) = (0.0, top + thread_height + CORE_GAP);
            }
            for (n, thread) in core.iter().enumerate() {
                out.push_str(&self.thread(thread, left + n as f64 * thread_width, top));
            }
            let _ = write!(
                out,
                r#"<rect class="core" x="{left:.0}" y="{top:.0}" width="{core_width:.0}" height="{thread_height:.0}" rx="3"/>"#
            );
            left += core_width + CORE_GAP;
        }
        (out, top + thread_height + CORE_GAP)
    }

    fn thread(&self, id: CpuId, x: f64, y: f64) -> String {
        let (width, height) = self.form.thread;
        let usable = self.machine.cpu(id).is_some_and(|cpu| cpu.usable);
        let class = if usable { "thread" } else { "off" };
        let square = format!(
            r#"<rect class="{class}" x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{height:.0}"/>"#
        );
        if !self.form.is_numbered {
            return square;
        }
        let (x, y) = (x + width / 2.0, y + 15.0);
        format!(r#"{square}<text x="{x:.0}" y="{y:.0}" class="mid">{id}</text>"#)
    }

    fn distances(&self, top: f64) -> (String, f64) {
        let machine = self.machine;
        let ids = &machine.distances.nodes;
        if ids.len() < 2 {
            return (String::new(), 0.0);
        }
        let label = 80.0;
        let cell = 120.0f64.min((self.form.width - 2.0 * PAD - label) / ids.len() as f64);
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
}

fn text(x: f64, y: f64, class: &str, content: &str) -> String {
    format!(r#"<text x="{x:.0}" y="{y:.0}" class="{class}">{}</text>"#, escape(content))
}

fn title(machine: &Machine) -> String {
    machine.host.get().map_or("machine", String::as_str).to_owned()
}

pub fn subtitle(machine: &Machine) -> String {
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

fn devices(machine: &Machine, node: &Node) -> String {
    let here = machine.devices.iter().filter(|device| device.node == Known::Is(node.id));
    let name = |kind| if kind == DeviceKind::Network { "network" } else { "disk" };
    here.map(|device| format!("{} {}", name(device.kind), device.name))
        .collect::<Vec<_>>()
        .join(" · ")
}

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

fn short(class: DistanceClass, cell: f64) -> &'static str {
    if cell >= 100.0 { class.name() } else { "" }
}
