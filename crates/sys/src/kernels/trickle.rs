//! Reads of one line after the other with a wait between them: a load of so much bandwidth and no more.
//!
//! The wait is a chain of multiplications, each of which needs the one before: it takes the core's time and
//! none of its memory's. How many of them a nanosecond is has to be found out on the machine ([`Wait::of`]).

use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::clock;
use crate::memory::Region;

const LINE_WORDS: usize = 8;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Some hundred microseconds: long enough to be timed, and short enough to be left in peace now and then.
const TRIAL_STEPS: u32 = 1 << 16;
const TRIALS: usize = 50;

/// A wait between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    steps: u32,
}

impl Wait {
    /// As many multiplications as take about so long on this CPU: the quickest of many trials decides.
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

/// So many multiplications, one after the other. Never inlined: what was tried is what is waited.
#[inline(never)]
fn pass(mut value: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        value = (value ^ (value >> 29)).wrapping_mul(FACTOR);
    }
    value
}

/// Reads the lines of a region from a byte on, as many bytes as asked for or as there are, and waits after
/// each; how many bytes of lines it read.
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

    /// A machine that is busy makes everything longer, and never shorter.
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
