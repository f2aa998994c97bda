//! **context_switches**: of the machine and of each worker, from `/proc/stat` and `status`.
//!
//! Voluntary: the worker waits (for a reply, a lock, a disk). Involuntary: the kernel takes its
//! CPU.

use hopcost_core::{Known, Reading, gauge};
use hopcost_sys::Root;

use super::reading::{KernelObserver, ProcField, counts, counts_of_workers, some, watch};

const MACHINE: &[ProcField] = &[("ctxt", gauge::CONTEXT_SWITCHES)];
const WORKER: &[ProcField] = &[
    ("voluntary_ctxt_switches", gauge::WORKER_VOLUNTARY_SWITCHES),
    ("nonvoluntary_ctxt_switches", gauge::WORKER_INVOLUNTARY_SWITCHES),
];

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "context_switches",
    about: "context switches of the machine, and those of each worker, voluntary or not",
    open: |scope| {
        let (root, workers) = (Root::live(), scope.workers.to_vec());
        watch(move || read(&root, &workers))
    },
};

fn read(root: &Root, workers: &[u32]) -> Known<Vec<Reading>> {
    root.text("proc/stat").and_then(|stat| {
        let mut readings = counts(&stat, "", MACHINE);
        readings.extend(counts_of_workers(root, workers, "status", WORKER));
        some(readings, "/proc/stat counts no context switches")
    })
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said, this_thread};
    use super::*;

    #[test]
    fn the_machine_and_the_workers_that_live_are_told() {
        let status =
            "Name:\thopcost\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7";
        let root = root(&[("proc/stat", "cpu 1 2\nctxt 12345\n"), ("proc/77/status", status)]);
        let expected = [
            "context_switches : 12345",
            "worker_voluntary_switches worker 1: 150",
            "worker_involuntary_switches worker 1: 7",
        ];
        assert_eq!(said(&read(&root, &[76, 77])), expected);
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_switch() {
        let switches = || {
            let readings = read(&Root::live(), &[this_thread()]).ok().unwrap();
            let own = readings.iter().find(|r| r.gauge == gauge::WORKER_VOLUNTARY_SWITCHES);
            own.unwrap().value
        };
        let before = switches();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(switches() > before);
    }
}
