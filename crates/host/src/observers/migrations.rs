//! **migrations**: how often each worker was moved to another CPU.
//!
//! From the workers' `sched`, which also knows of moves that ended where they began. A worker that
//! is pinned to one CPU must not move at all, whatever its placement reads before and after.

use hopcost_core::{Code, Known, Observer, Reading, Reason, Scope, Watching, gauge};
use hopcost_sys::Root;

use super::reading::{ProcField, counts_of_workers, some, watch};

pub struct Migrations;

const WORKER: &[ProcField] = &[("se.nr_migrations", gauge::WORKER_MIGRATIONS)];

impl Observer for Migrations {
    fn name(&self) -> &'static str {
        "migrations"
    }

    fn about(&self) -> &'static str {
        "how often the kernel moved each worker from one CPU to another"
    }

    fn open(&self, scope: &Scope<'_>) -> Result<Box<dyn Watching>, Reason> {
        let (root, workers) = (Root::live(), scope.workers.to_vec());
        watch(move || read(&root, &workers))
    }
}

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
