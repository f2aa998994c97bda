//! What is watched from the side while a database works.
//!
//! A new one is a file here and a line in [`OBSERVERS`]. An observer reads counters that the kernel
//! keeps anyway, right before and right after a window, so that watching costs nothing inside it.
//! What cannot be read on this machine is refused in words when the observer is opened; a number
//! that is not there is left out, and is never a zero.
//!
//! Workers are called by their position, `worker 3`, and read below `/proc/NUMBER`, which also finds
//! threads of another process: those of a database server, where that is what does the work.

mod context_switches;
mod cpu;
mod hint_faults;
mod kernel_samples;
mod memory_by_node;
mod migrations;
mod numastat;
mod page_faults;
mod perf;

use std::borrow::Cow;

use hopcost_core::{Code, Gauge, Known, NodeId, Observer, Reading, Reason, Scope, Watching};
use hopcost_sys::Root;

/// All observers.
pub const OBSERVERS: &[&dyn Observer] = &[
    &cpu::Cpu,
    &context_switches::ContextSwitches,
    &migrations::Migrations,
    &numastat::Numastat,
    &hint_faults::HintFaults,
    &page_faults::PageFaults,
    &kernel_samples::KernelSamples,
    &memory_by_node::MemoryByNode,
    &perf::Perf,
];

/// A line of a kernel's file, by its first word, and the gauge that it is.
type Line = (&'static str, &'static Gauge);

/// Watches with `read`, if it finds something to begin with.
fn watch(
    mut read: impl FnMut() -> Known<Vec<Reading>> + 'static,
) -> Result<Box<dyn Watching>, Reason> {
    match read() {
        Known::Is(_) => Ok(Box::new(Reader(read))),
        Known::Missing(reason) => Err(reason),
    }
}

/// Watches every node of the machine with `read`.
fn watch_nodes(
    scope: &Scope<'_>,
    read: impl Fn(&Root, &[NodeId]) -> Known<Vec<Reading>> + 'static,
) -> Result<Box<dyn Watching>, Reason> {
    let nodes: Vec<NodeId> = scope.machine.nodes.iter().map(|node| node.id).collect();
    let root = Root::live();
    watch(move || read(&root, &nodes))
}

struct Reader<F>(F);

impl<F: FnMut() -> Known<Vec<Reading>>> Watching for Reader<F> {
    fn read(&mut self) -> Vec<Reading> {
        (self.0)().ok().unwrap_or_default()
    }
}

/// The readings, if there are any.
fn some(readings: Vec<Reading>, or_else: impl Into<Cow<'static, str>>) -> Known<Vec<Reading>> {
    if readings.is_empty() { Known::missing(Code::NotTold, or_else) } else { Known::Is(readings) }
}

/// One number that only grows.
fn count(gauge: &'static Gauge, of: impl Into<String>, value: u64) -> Reading {
    Reading { gauge, of: of.into(), value: value as f64 }
}

/// Those of `lines` that a file holds, whether it writes `name 7`, `name:  7` or `name  : 7`.
fn counts(text: &str, of: &str, lines: &[Line]) -> Vec<Reading> {
    let gap = [' ', '\t', ':'];
    let number = |name: &str| {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(gap)?;
            rest.trim_start_matches(gap).split_whitespace().next()?.parse().ok()
        })
    };
    lines.iter().filter_map(|(name, gauge)| Some(count(gauge, of, number(name)?))).collect()
}

/// What `/proc/NUMBER/file` holds for each worker; those that have ended are left out.
fn counts_of_workers(root: &Root, workers: &[u32], file: &str, lines: &[Line]) -> Vec<Reading> {
    let of_worker = |(n, thread): (usize, &u32)| {
        let text = root.text(&format!("proc/{thread}/{file}")).ok().unwrap_or_default();
        counts(&text, &worker(n), lines)
    };
    workers.iter().enumerate().flat_map(of_worker).collect()
}

fn worker(n: usize) -> String {
    format!("worker {n}")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use hopcost_core::{Nature, gauge};
    use hopcost_sys::topology;

    use super::*;

    /// A machine with these files alone.
    pub fn root(files: &[(&str, &str)]) -> Root {
        let files = files.iter().map(|(path, text)| format!("> {path}\n{text}\n"));
        let text = files.fold("hopcost machine recording, version 1\n".to_owned(), |a, b| a + &b);
        Root::from_text(&text).unwrap()
    }

    /// Readings as `metric of: value`.
    pub fn said(readings: &Known<Vec<Reading>>) -> Vec<String> {
        let line = |r: &Reading| format!("{} {}: {}", r.gauge.name, r.of, r.value);
        readings.get().unwrap().iter().map(line).collect()
    }

    pub fn this_thread() -> u32 {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    const UNITS: [&str; 11] = [
        "ms",
        "switches",
        "migrations",
        "pages",
        "faults",
        "shootdowns",
        "samples",
        "bytes",
        "loads",
        "misses",
        "ns",
    ];

    #[test]
    fn each_watches_or_says_why_not_and_no_count_goes_down() {
        let machine = topology::read(&Root::live());
        let scope = Scope { machine: &machine, workers: &[this_thread()] };
        let names: BTreeSet<&str> = OBSERVERS.iter().map(|observer| observer.name()).collect();
        assert_eq!(names.len(), OBSERVERS.len());
        let mut metrics = BTreeSet::new();
        for observer in OBSERVERS {
            assert!(observer.about().len() > 20 && !observer.about().contains('\n'));
            let mut watching = match observer.open(&scope) {
                Ok(watching) => watching,
                Err(reason) => {
                    assert!(reason.as_str().len() > 10, "{}: {reason}", observer.name());
                    continue;
                }
            };
            let before = watching.read();
            assert!(!before.is_empty(), "{}", observer.name());
            let key = |reading: &Reading| (reading.gauge.name, reading.of.clone());
            let after: BTreeMap<_, _> = watching.read().iter().map(|r| (key(r), r.value)).collect();
            for reading in before {
                let unit = reading.gauge.unit();
                assert!(UNITS.contains(&unit), "{}", reading.gauge.name);
                assert!(metrics.insert(key(&reading)), "{reading:?} stands twice");
                let grown = after[&key(&reading)] >= reading.value;
                assert!(grown || reading.gauge.nature == Nature::Level, "{reading:?}");
            }
        }
    }

    #[test]
    fn a_machine_without_any_files_is_refused_in_words() {
        let refused = watch(|| root(&[]).text("proc/stat").map(|_| Vec::new()));
        assert_eq!(refused.err().unwrap().as_str(), "there is no /proc/stat");
    }

    #[test]
    fn a_name_is_not_taken_for_a_longer_one() {
        let text = "numa_hit_total 9\nnuma_hit 4\n";
        let readings = counts(text, "node 0", &[("numa_hit", gauge::NUMA_HIT_PAGES)]);
        assert_eq!(said(&Known::Is(readings)), ["numa_hit_pages node 0: 4"]);
    }
}
