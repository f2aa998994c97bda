//! **perf**: the workers' loads from node memory, as the processor counts them.
//!
//! The events `node-loads` and `node-load-misses`, user space only. The processor defines what they
//! count, so they never replace a proof of placement. Most guests have no counters. A worker whose
//! counters were multiplexed is left out.

use hopcost_core::{Code, Gauge, Reading, Reason, Watching, gauge};
use hopcost_sys::counters::{Counter, Event};

use super::reading::{KernelObserver, count, worker};

const EVENTS: &[(Event, &Gauge)] = &[
    (Event::NodeLoads, gauge::WORKER_NODE_LOADS),
    (Event::NodeLoadMisses, gauge::WORKER_NODE_LOAD_MISSES),
];

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "perf",
    about: "loads of each worker from nodes' memory, and those that went to another node",
    open: |scope| Ok(Box::new(Counters::open(scope.workers, EVENTS)?)),
};

struct Counters(Vec<(&'static Gauge, String, Counter)>);

impl Counters {
    fn open(workers: &[u32], events: &[(Event, &'static Gauge)]) -> Result<Self, Reason> {
        if workers.is_empty() {
            return Err(
                Code::NotApplicable.because("there are no workers whose loads could be counted")
            );
        }
        let mut counters = Vec::new();
        for (n, thread) in workers.iter().enumerate() {
            for (event, gauge) in events {
                let counter = Counter::of_thread(*event, *thread);
                counters.push((
                    *gauge,
                    worker(n),
                    counter.map_err(|why| Code::NoCounters.because(why.to_string()))?,
                ));
            }
        }
        Ok(Self(counters))
    }
}

impl Watching for Counters {
    fn read(&mut self) -> Vec<Reading> {
        let reading = |(gauge, of, counter): &(&'static Gauge, String, Counter)| {
            Some(count(gauge, of.as_str(), counter.count()?))
        };
        self.0.iter().filter_map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::this_thread;
    use super::*;

    #[test]
    fn a_machine_without_the_counters_is_refused_in_words() {
        if let Err(reason) = Counters::open(&[this_thread()], EVENTS) {
            assert_eq!(reason.code(), Code::NoCounters);
            let words = reason.as_str();
            assert!(words.starts_with("node-load") && words.len() > 30, "{words}");
        }
        assert!(Counters::open(&[], EVENTS).err().unwrap().as_str().contains("no workers"));
    }

    #[test]
    fn a_counter_that_needs_no_hardware_is_read_for_its_worker() {
        let clock = [(Event::TaskClockNs, gauge::WORKER_CLOCK_NS)];
        // If ordinary users may count nothing at all, only the messages above are tested.
        let Ok(mut counters) = Counters::open(&[this_thread()], &clock) else { return };
        let (before, after) = (counters.read(), counters.read());
        assert_eq!((before[0].gauge, before[0].of.as_str()), (gauge::WORKER_CLOCK_NS, "worker 0"));
        assert!(after[0].value > before[0].value);
    }
}
