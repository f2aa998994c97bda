//! Paced reads of one line after another: a load of limited bandwidth.
//!
//! The wait is a chain of dependent multiplications, which takes the core's time but no memory.
//! [`Wait::of`] calibrates their number on the machine.

use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::clock;
use crate::memory::Region;

const LINE_WORDS: usize = 8;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Some hundred microseconds: long enough to time, short enough to sometimes run undisturbed.
const TRIAL_STEPS: u32 = 1 << 16;
const TRIALS: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    steps: u32,
}

impl Wait {
    /// The fastest of many trials on this CPU decides.
    pub fn of(nanoseconds: u32) -> Self {
        if nanoseconds == 0 {
            return Self { steps: 0 };
        }
        let trial = || clock::time(|| pass(black_box(1), TRIAL_STEPS)).1;
        let quickest = (0..TRIALS).map(|_| trial()).min().unwrap_or(Duration::ZERO);
        let each = quickest.as_nanos().max(1) as f64 / f64::from(TRIAL_STEPS);
        Self { steps: (f64::from(nanoseconds) / each).round().max(1.0) as u32 }
    }
}

/// Never inlined, so that the code that was calibrated is what runs.
#[inline(never)]
fn pass(mut value: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        value = (value ^ (value >> 29)).wrapping_mul(FACTOR);
    }
    value
}

/// Reads at most `bytes` of lines from byte `from`, waiting after each; returns the bytes read.
pub fn read(region: &Region, from: usize, bytes: usize, wait: Wait) -> usize {
    let words = region.atomics();
    let (start, end) = (from / 8, words.len().min((from + bytes) / 8));
    let lines = words.get(start..end).unwrap_or_default().chunks_exact(LINE_WORDS);
    let read = lines.len() * LINE_WORDS * 8;
    let mut sum = 0;
    for line in lines {
        sum ^= line[0].load(Ordering::Relaxed);
        if wait.steps > 0 {
            black_box(pass(1, wait.steps));
        }
    }
    black_box(sum);
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Request;
    use crate::{Root, topology};

    fn region() -> Region {
        let machine = topology::read(&Root::live());
        let node = machine.nodes_with_cpus().find(|node| node.usable).unwrap().id;
        Region::place(&Request::on(&machine, node, 2 << 20, None)).unwrap()
    }

    #[test]
    fn it_reads_whole_lines_and_stops_where_the_memory_does() {
        let (region, none) = (region(), Wait::of(0));
        assert_eq!(read(&region, 0, 4096, none), 4096);
        assert_eq!(read(&region, region.len() - 128, 4096, none), 128);
        assert_eq!(read(&region, region.len(), 4096, none), 0);
    }

    /// A busy machine only makes it longer.
    #[test]
    fn a_wait_takes_at_least_about_what_it_says() {
        let (region, lines) = (region(), 1000);
        let mut quickest = Duration::MAX;
        for _ in 0..20 {
            let wait = Wait::of(1000);
            let ((), took) = clock::time(|| {
                assert_eq!(read(&region, 0, lines * 64, wait), lines * 64);
            });
            quickest = quickest.min(took);
            if (0.5e6..2e6).contains(&(took.as_nanos() as f64)) {
                return;
            }
        }
        panic!("1,000 lines with 1,000 ns each took {quickest:?} at best");
    }
}
