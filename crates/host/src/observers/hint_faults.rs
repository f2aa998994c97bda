//! **hint_faults**: automatic NUMA balancing of the machine's pages, from `/proc/vmstat`.
//!
//! The kernel unmaps pages periodically to see which thread uses them. The resulting hint fault
//! costs time and may move the page away from where an experiment placed it.

use hopcost_core::{Known, Reading, gauge};
use hopcost_sys::Root;

use super::reading::{KernelObserver, ProcField, counts, some, watch};

const MACHINE: &[ProcField] = &[
    ("numa_hint_faults", gauge::NUMA_HINT_FAULTS),
    ("numa_hint_faults_local", gauge::NUMA_HINT_LOCAL_FAULTS),
    ("numa_pages_migrated", gauge::NUMA_MIGRATED_PAGES),
    ("pgmigrate_success", gauge::MIGRATED_PAGES),
];

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "hint_faults",
    about: "faults by which the kernel's NUMA balancing looks who uses a page, and pages it moved",
    open: |_| {
        let root = Root::live();
        watch(move || read(&root))
    },
};

fn read(root: &Root) -> Known<Vec<Reading>> {
    root.text("proc/vmstat").and_then(|vmstat| {
        some(
            counts(&vmstat, "", MACHINE),
            "the kernel counts neither hint faults nor moved pages (built without \
             CONFIG_NUMA_BALANCING and CONFIG_MIGRATION)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said};
    use super::*;

    #[test]
    fn faults_and_moves_are_told_apart() {
        let vmstat = "nr_free_pages 9\nnuma_hint_faults 40\nnuma_hint_faults_local 30\n\
                      numa_pages_migrated 5\npgmigrate_success 8\npgmigrate_fail 1";
        let expected = [
            "numa_hint_faults : 40",
            "numa_hint_local_faults : 30",
            "numa_migrated_pages : 5",
            "migrated_pages : 8",
        ];
        assert_eq!(said(&read(&root(&[("proc/vmstat", vmstat)]))), expected);
    }

    #[test]
    fn a_kernel_without_balancing_says_what_it_has_and_one_without_all_is_refused() {
        let moved = root(&[("proc/vmstat", "pgmigrate_success 8")]);
        assert_eq!(said(&read(&moved)), ["migrated_pages : 8"]);
        let read = read(&root(&[("proc/vmstat", "nr_free_pages 9")]));
        assert!(read.reason().unwrap().as_str().contains("CONFIG_NUMA_BALANCING"));
    }
}
