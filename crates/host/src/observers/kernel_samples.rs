//! **kernel_samples**: what the workers ask of the kernel, sampled by their CPU time.
//!
//! By the doors through which they came: a system call, a page fault, an interrupt. Memory that is touched for
//! the first time is a page fault, and what is given back is `munmap` or `madvise`. Limits: those of
//! `hopcost_sys::samples`; as nobody is asked within a window, a long one may lose samples.

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
        // A door that nobody has come through yet has no reading before it: the commonest have.
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
