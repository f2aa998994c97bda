//! What a comparison rests on: the cost of each point, each level's figures, the proof, the method.

use std::fmt::Write as _;

use hopcost_core::{Arm, Details, Estimate, Known, PointCost, Scaling, gauge};

use super::ink::Ink;
use super::times::times;
use super::wrap::{LEAST_WIDTH, labelled, pad, pad_left};
use crate::parallel;
use crate::words::{count, figure, known_by, plural};

const INDENT: usize = 11;
const BAR: usize = 20;
/// Calls shorter than this are told in microseconds.
const SHORT_MS: f64 = 0.1;

/// Everything beside the verdict, `columns` wide.
pub fn details(details: &Details, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let mut out = points(&details.points);
    out.push_str(&arms(&details.arms));
    out.push_str(&times(details, INDENT, columns));
    let mut fact = |label: &str, text: &str| {
        out.push_str(&labelled(&format!("  {}", Ink::Faint.on(label)), INDENT, text, columns));
    };
    if let Some(placebo) = &details.placebo {
        fact("placebo", &format!("the baseline over itself: {}", percent(placebo)));
    }
    fact("method", &method(details));
    if !details.bindings.is_empty() && details.bindings.iter().any(|binding| !binding.is_empty()) {
        fact("bound", &format!("each way in turn: {}", details.bindings.join("; ")));
    }
    if let Some(known_by) = known_by(details) {
        fact("locality", &known_by);
    }
    if let Some(switches) = switches(details) {
        fact("switches", &switches);
    }
    if let Some(memory) = memory(details) {
        fact("memory", &memory);
    }
    for workers in parallel::lines(details) {
        fact("workers", &workers);
    }
    if let Some(log) = log(details) {
        fact("log", &log);
    }
    // The law of a single level stands beside the verdict.
    for of in details.scaling.iter().filter(|_| details.scaling.len() > 1) {
        fact("law", &law(of));
    }
    fact("target", &details.identity);
    for plan in &details.plans {
        fact("plan", &shortened(plan));
    }
    for text in &details.left_out {
        fact("left out", text);
    }
    for note in &details.notes {
        fact("note", note);
    }
    out.push('\n');
    out
}

/// `two: one stream does λ 1000 …`, or why there is no law.
fn law(of: &Scaling) -> String {
    match &of.law {
        Known::Is(law) => format!("{}: {law}", of.level),
        Known::Missing(reason) => format!("{}: missing, because {reason}", of.level),
    }
}

/// The begin of a long text; all of it is in the JSON.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} … (whole with --json)", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

fn method(details: &Details) -> String {
    let blocks: Vec<String> = details.blocks.iter().map(|(of, n)| format!("{n} {of}")).collect();
    let dropped: Vec<String> =
        details.dropped.iter().map(|(cause, n)| format!("{n} dropped: {cause}")).collect();
    format!(
        "blocks of 4 windows of {:.2} s after {:.0} ms: {}{}; the harness takes {:.0} ns of a call",
        details.window_s,
        1e3 * details.guard_s,
        blocks.join(", "),
        dropped.iter().map(|text| format!("; {text}")).collect::<String>(),
        details.harness_ns_per_call
    )
}

/// `+3.1 % (+2.6 … +3.6)`.
pub fn percent(cost: &Estimate) -> String {
    let [point, low, high] = [cost.point, cost.low, cost.high].map(|share| 100.0 * share);
    format!("{point:+.1} % ({low:+.1} … {high:+.1})")
}

/// One line each: the cost in words, and as a bar on a common scale around zero.
fn points(points: &[PointCost]) -> String {
    let mut out = String::new();
    let reach = points.iter().flat_map(|p| [p.cost.low.abs(), p.cost.high.abs()]);
    let reach = reach.fold(0.01, f64::max);
    let name = |point: &PointCost| format!("{} at {}", point.level, point.streams);
    let widest = points.iter().map(|point| name(point).chars().count() + 1).max().unwrap_or(0);
    let width = widest.max(14);
    for point in points {
        let kind = match (point.exploratory, point.may_be_worst) {
            (false, _) => Ink::Strong.on("estimate"),
            (true, true) => Ink::Faint.on("search: worst?"),
            (true, false) => Ink::Faint.on("search"),
        };
        let _ = writeln!(
            out,
            "  {}{}  {}  {kind}",
            pad(&name(point), width),
            pad(&percent(&point.cost), 25),
            bar(&point.cost, reach)
        );
    }
    if !points.is_empty() {
        let reach = 100.0 * reach;
        let scale = format!("−{reach:.0} %{}+{reach:.0} %", " ".repeat(BAR.saturating_sub(9)));
        let _ = writeln!(out, "{}{}\n", " ".repeat(29 + width), Ink::Faint.on(&scale));
    }
    out
}

/// An interval on a line that is `2 · reach` long, zero in the middle.
fn bar(cost: &Estimate, reach: f64) -> String {
    let at = |share: f64| {
        let place = f64::midpoint(share / reach, 1.0) * (BAR - 1) as f64;
        place.round().clamp(0.0, (BAR - 1) as f64) as usize
    };
    let (low, point, high) = (at(cost.low), at(cost.point), at(cost.high));
    (0..BAR)
        .map(|place| match place {
            place if place == point => '●',
            place if (low..=high).contains(&place) => '━',
            place if place == at(0.0) => '│',
            _ => '·',
        })
        .collect()
}

fn arms(arms: &[Arm]) -> String {
    let mut out = String::new();
    if arms.is_empty() {
        return out;
    }
    let mean_ms = |arm: &Arm| arm.latency_ms.map_or(0.0, |times| times[0]);
    let is_short = arms.iter().map(mean_ms).fold(f64::MAX, f64::min) < SHORT_MS;
    let (factor, unit) = if is_short { (1e3, "µs") } else { (1.0, "ms") };
    let head = [
        "streams",
        "response",
        &format!("mean {unit}"),
        &format!("p95 {unit}"),
        &format!("sd {unit}"),
        "look-ups here/there",
        "CPU",
    ];
    let widths = [8, 11, 9, 8, 8, 20, 6];
    let row = |cells: &[String]| -> String {
        cells.iter().zip(widths).map(|(cell, width)| pad_left(cell, width)).collect()
    };
    let head: Vec<String> = head.iter().map(|word| Ink::Faint.on(word)).collect();
    let names = arms.iter().map(|arm| arm.level.chars().count() + 1).max().unwrap_or(0).max(9);
    let _ = writeln!(out, "  {}{}", pad("", names), row(&head));
    for arm in arms {
        let time =
            |n: usize| arm.latency_ms.map_or("–".to_owned(), |times| figure(factor * times[n]));
        let lookups = arm.acquisitions.map_or("–".to_owned(), |[here, there]| {
            format!("{} / {}", count(here), count(there))
        });
        let cells = [
            arm.streams.to_string(),
            figure(arm.response),
            time(0),
            time(3),
            time(1),
            lookups,
            cpu(arm),
        ];
        let _ = writeln!(out, "  {}{}", pad(&arm.level, names), row(&cells));
    }
    out.push('\n');
    out
}

/// Context switches of the machine, where they may be all that a call is: where they are as many.
fn switches(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let at = |arm: &Arm| {
        let found = arm.observed.iter().find(|o| o.is(gauge::CONTEXT_SWITCHES))?;
        let calls = arm.calls as f64 / arm.windows as f64;
        (found.value > calls)
            .then(|| format!("{} a second at {}", figure(found.value / window_s), arm.level))
    };
    let each: Vec<String> = details.arms.iter().filter_map(at).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// What memory cost the workers, where each call had to be given a page or more: the time that the kernel took
/// for them, and how often CPUs were told to forget a page. Of all arms the one with the most.
fn memory(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let of_arm = |arm: &Arm| {
        let sum =
            |gauge| -> f64 { arm.observed.iter().filter(|o| o.is(gauge)).map(|o| o.value).sum() };
        let [program, kernel] = [gauge::WORKER_PROGRAM_MS, gauge::WORKER_KERNEL_MS].map(sum);
        let faults = sum(gauge::WORKER_PAGE_FAULTS);
        let is_much = faults >= arm.calls as f64 / arm.windows as f64 && kernel > 0.0;
        is_much.then(|| (kernel / (program + kernel), faults, sum(gauge::TLB_SHOOTDOWNS)))
    };
    let arms = details.arms.iter().filter_map(|arm| Some((arm, of_arm(arm)?)));
    let (arm, (share, faults, forgotten)) = arms.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{:.0} % of the workers' time is the kernel's{}, {} page faults and {} shoot-downs a second at {} \
         with {}",
        100.0 * share,
        doors(arm),
        figure(faults / window_s),
        figure(forgotten / window_s),
        arm.level,
        plural(arm.streams as usize, "stream"),
    ))
}

/// What the kernel was asked for most, by its samples.
fn doors(arm: &Arm) -> String {
    const MOST: usize = 3;
    let samples = || arm.observed.iter().filter(|o| o.is(gauge::KERNEL_SAMPLES));
    let all: f64 = samples().map(|door| door.value).sum();
    let mut doors: Vec<_> = samples().filter(|door| door.value > 0.05 * all).collect();
    doors.sort_by(|a, b| b.value.total_cmp(&a.value));
    let words = doors.iter().take(MOST);
    let words: Vec<String> =
        words.map(|door| format!("{} {:.0} %", door.of, 100.0 * door.value / all)).collect();
    if words.is_empty() { String::new() } else { format!(" ({} of it)", words.join(", ")) }
}

/// What the database wrote of its log, and how long it took to flush it: where it wrote some.
fn log(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let at = |arm: &Arm| {
        let mean = |gauge| {
            let found = arm.observed.iter().find(|o| o.is(gauge) && o.of.is_empty())?;
            Some(found.value)
        };
        let kib = mean(gauge::WAL_BYTES)? / 1024.0;
        let flushes = mean(gauge::LOG_FLUSHES).filter(|flushes| *flushes > 0.0);
        let flush = flushes
            .zip(mean(gauge::LOG_FLUSH_MS))
            .map_or(String::new(), |(count, ms)| format!(", {} ms a flush", figure(ms / count)));
        (kib >= 1.0)
            .then(|| format!("{} KiB a second{flush} at {}", figure(kib / window_s), arm.level))
    };
    let each: Vec<String> = details.arms.iter().filter_map(at).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// The share of the machine's CPU time that was used while the level was measured.
fn cpu(arm: &Arm) -> String {
    let of_cpus = |gauge| -> f64 {
        let all = arm.observed.iter().filter(|o| o.is(gauge) && o.of.starts_with("cpu"));
        all.map(|observation| observation.value).sum()
    };
    let busy = of_cpus(gauge::CPU_USER_MS) + of_cpus(gauge::CPU_SYSTEM_MS);
    let all = busy + of_cpus(gauge::CPU_IDLE_MS) + of_cpus(gauge::CPU_STEAL_MS);
    if all > 0.0 { format!("{:.0} %", 100.0 * busy / all) } else { "–".to_owned() }
}
