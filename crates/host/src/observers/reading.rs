//! Shared by observers: turning a kernel file into readings.

use std::borrow::Cow;

use hopcost_core::{Code, Gauge, Known, NodeId, Observer, Reading, Reason, Scope, Watching};
use hopcost_sys::Root;

pub struct KernelObserver {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) open: fn(&Scope<'_>) -> Result<Box<dyn Watching>, Reason>,
}

impl Observer for KernelObserver {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn open(&self, scope: &Scope<'_>) -> Result<Box<dyn Watching>, Reason> {
        (self.open)(scope)
    }
}

pub(super) type ProcField = (&'static str, &'static Gauge);

/// Refuses if `read` finds nothing at the start.
pub(super) fn watch(
    mut read: impl FnMut() -> Known<Vec<Reading>> + 'static,
) -> Result<Box<dyn Watching>, Reason> {
    match read() {
        Known::Is(_) => Ok(Box::new(Reader(read))),
        Known::Missing(reason) => Err(reason),
    }
}

pub(super) fn watch_nodes(
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

pub(super) fn some(
    readings: Vec<Reading>,
    or_else: impl Into<Cow<'static, str>>,
) -> Known<Vec<Reading>> {
    if readings.is_empty() { Known::missing(Code::NotTold, or_else) } else { Known::Is(readings) }
}

pub(super) fn count(gauge: &'static Gauge, of: impl Into<String>, value: u64) -> Reading {
    Reading { gauge, of: of.into(), value: value as f64 }
}

/// Those of `lines` that a file holds, written `name 7`, `name:  7` or `name  : 7`.
pub(super) fn counts(text: &str, of: &str, lines: &[ProcField]) -> Vec<Reading> {
    let gap = [' ', '\t', ':'];
    let number = |name: &str| {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(gap)?;
            rest.trim_start_matches(gap).split_whitespace().next()?.parse().ok()
        })
    };
    lines.iter().filter_map(|(name, gauge)| Some(count(gauge, of, number(name)?))).collect()
}

/// `/proc/NUMBER/file` of each worker; workers that have ended are left out.
pub(super) fn counts_of_workers(
    root: &Root,
    workers: &[u32],
    file: &str,
    lines: &[ProcField],
) -> Vec<Reading> {
    let of_worker = |(n, thread): (usize, &u32)| {
        let text = root.text(&format!("proc/{thread}/{file}")).ok().unwrap_or_default();
        counts(&text, &worker(n), lines)
    };
    workers.iter().enumerate().flat_map(of_worker).collect()
}

pub(super) fn worker(n: usize) -> String {
    format!("worker {n}")
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub fn root(files: &[(&str, &str)]) -> Root {
        let files = files.iter().map(|(path, text)| format!("> {path}\n{text}\n"));
        let text = files.fold("hopcost machine recording, version 1\n".to_owned(), |a, b| a + &b);
        Root::from_text(&text).unwrap()
    }

    pub fn said(readings: &Known<Vec<Reading>>) -> Vec<String> {
        let line = |r: &Reading| format!("{} {}: {}", r.gauge.name, r.of, r.value);
        readings.get().unwrap().iter().map(line).collect()
    }

    pub fn this_thread() -> u32 {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::gauge;

    use super::testing::{root, said};
    use super::*;

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
