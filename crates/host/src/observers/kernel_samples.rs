//! **kernel_samples**: why the workers enter the kernel, sampled by CPU time.
//!
//! The first touch of memory is a page fault; freeing it is `munmap` or `madvise`. The buffer is
//! not drained within a window, so a long window may lose samples.

use std::collections::BTreeMap;

use hopcost_core::{Code, Known, Reading, Watching, gauge};
use hopcost_sys::Root;
use hopcost_sys::samples::{Doors, Samples};

use super::reading::{KernelObserver, count};

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "kernel_samples",
    about: "samples of the workers in the kernel, by the call or fault that led there",
    open: |scope| {
        if scope.workers.is_empty() {
            return Err(Code::NotApplicable.because("there are no workers to be sampled"));
        }
        let doors = match Doors::read(&Root::live()) {
            Known::Is(doors) => doors,
            Known::Missing(reason) => return Err(reason),
        };
        let samples = scope.workers.iter().map(|worker| Samples::of_thread(*worker));
        Ok(Box::new(Sampling { doors, samples: samples.collect::<Result<_, _>>()? }))
    },
};

struct Sampling {
    doors: Doors,
    samples: Vec<Samples>,
}

impl Watching for Sampling {
    fn read(&mut self) -> Vec<Reading> {
        // An entry that has not occurred yet has no reading before it, so the most common start at
        // 0.
        let commonest = ["page fault", "munmap", "madvise", "interrupt"];
        let mut all: BTreeMap<String, u64> =
            commonest.map(|door| (door.to_owned(), 0)).into_iter().collect();
        for samples in &mut self.samples {
            for (door, number) in samples.by_door(&self.doors) {
                *all.entry(door.clone()).or_default() += number;
            }
        }
        all.into_iter().map(|(door, number)| count(gauge::KERNEL_SAMPLES, door, number)).collect()
    }
}
