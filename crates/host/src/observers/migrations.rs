//! **migrations**: how often each worker changed its CPU, from `sched`.
//!
//! Includes moves that ended on the original CPU. A pinned worker must have none.

use hopcost_core::{Code, Known, Reading, gauge};
use hopcost_sys::Root;

use super::reading::{KernelObserver, ProcField, counts_of_workers, some, watch};

const WORKER: &[ProcField] = &[("se.nr_migrations", gauge::WORKER_MIGRATIONS)];

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "migrations",
    about: "how often the kernel moved each worker from one CPU to another",
    open: |scope| {
        let (root, workers) = (Root::live(), scope.workers.to_vec());
        watch(move || read(&root, &workers))
    },
};

fn read(root: &Root, workers: &[u32]) -> Known<Vec<Reading>> {
    let Some(first) = workers.first() else {
        return Known::missing(Code::NotApplicable, "there are no workers to be moved");
    };
    some(
        counts_of_workers(root, workers, "sched", WORKER),
        format!(
            "no migrations in /proc/{first}/sched: the thread has ended, or the kernel was built \
             without CONFIG_SCHED_DEBUG"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said};
    use super::*;

    #[test]
    fn each_worker_has_its_own_number() {
        let sched = |n| format!("hopcost (77, #threads: 2)\n---\nse.nr_migrations    :      {n}\n");
        let root = root(&[("proc/77/sched", &sched(3)), ("proc/78/sched", &sched(0))]);
        let expected = ["worker_migrations worker 0: 3", "worker_migrations worker 1: 0"];
        assert_eq!(said(&read(&root, &[77, 78])), expected);
    }

    #[test]
    fn what_is_missing_is_said() {
        let reason = |workers: &[u32]| read(&root(&[]), workers).reason().unwrap().to_string();
        assert!(reason(&[77]).contains("/proc/77/sched") && reason(&[77]).contains("SCHED_DEBUG"));
        assert!(reason(&[]).contains("no workers"));
    }
}
