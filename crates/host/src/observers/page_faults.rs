//! **page_faults**: page faults and kernel time of each worker, and TLB shoot-downs.
//!
//! From the workers' `stat` and `/proc/interrupts`. Kernel time includes system calls and disk I/O,
//! in ticks of about 10 ms. Shoot-downs (freed addresses dropped by all CPUs of the process) are
//! machine-wide, as x86 counts them.

use hopcost_core::{Known, Reading, gauge};
use hopcost_sys::Root;
use hopcost_sys::activity::worker_time;
use hopcost_sys::kernels::decommit::shoot_downs;

use super::reading::{KernelObserver, count, some, watch, worker};

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "page_faults",
    about: "page faults of each worker, its time in the kernel and outside, TLB shoot-downs",
    open: |scope| {
        let (root, workers) = (Root::live(), scope.workers.to_vec());
        watch(move || read(&root, &workers))
    },
};

fn read(root: &Root, workers: &[u32]) -> Known<Vec<Reading>> {
    let of_worker = |(n, thread): (usize, &u32)| {
        let time = worker_time(root, *thread)?;
        Some([
            count(gauge::WORKER_PAGE_FAULTS, worker(n), time.page_faults),
            count(gauge::WORKER_PROGRAM_MS, worker(n), time.program_ms),
            count(gauge::WORKER_KERNEL_MS, worker(n), time.kernel_ms),
        ])
    };
    let mut readings: Vec<Reading> =
        workers.iter().enumerate().filter_map(of_worker).flatten().collect();
    if !readings.is_empty() {
        readings.extend(shoot_downs(root).map(|number| count(gauge::TLB_SHOOTDOWNS, "", number)));
    }
    some(readings, "there are no workers whose page faults could be counted")
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said, this_thread};
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "77 (a) b (c) R 1 2 3 4 5 6 1000 0 7 0 250 50 0 0 20 0 2 0 9";
        let interrupts = "     CPU0 CPU1\n TLB:  40  2   TLB shootdowns\n";
        let root = root(&[("proc/77/stat", stat), ("proc/interrupts", interrupts)]);
        let expected = [
            "worker_page_faults worker 1: 1007",
            "worker_program_ms worker 1: 2500",
            "worker_kernel_ms worker 1: 500",
            "tlb_shootdowns : 42",
        ];
        assert_eq!(said(&read(&root, &[76, 77])), expected);
    }

    #[test]
    fn memory_that_is_touched_is_seen_to_fault() {
        let faults = || read(&Root::live(), &[this_thread()]).ok().unwrap()[0].value;
        let before = faults();
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(faults() > before, "{}", pages.len());
    }
}
