//! Observers: kernel counters that are read right before and after a window.
//!
//! Each is a file here, registered in [`OBSERVERS`]; it costs nothing inside the window. What this
//! machine cannot provide is refused with a reason when the observer is opened. A missing number is
//! left out, never zero. Workers are named by position, `worker 3`, and read below `/proc/NUMBER`,
//! which also finds threads of other processes, such as a server's.

mod context_switches;
mod cpu;
mod hint_faults;
mod kernel_samples;
mod memory_by_node;
mod migrations;
mod numastat;
mod page_faults;
mod perf;
mod reading;

use hopcost_core::Observer;

pub const OBSERVERS: &[&dyn Observer] = &[
    &cpu::OBSERVER,
    &context_switches::OBSERVER,
    &migrations::OBSERVER,
    &numastat::OBSERVER,
    &hint_faults::OBSERVER,
    &page_faults::OBSERVER,
    &kernel_samples::OBSERVER,
    &memory_by_node::OBSERVER,
    &perf::OBSERVER,
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use hopcost_core::{Nature, Reading, Scope};
    use hopcost_sys::{Root, topology};

    use super::OBSERVERS;
    use super::reading::testing::this_thread;

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
}
