//! Was a sample taken in peace?
//!
//! A sample is spoilt when its thread moved, was preempted, waited for its CPU, or when the
//! hypervisor took time from the CPU. Each is read before and after from the kernel's own counters,
//! so that a disturbed sample can be dropped for a cause that is blind to its value.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hopcost_core::{CpuId, Disturbance};

use crate::affinity;

/// Counters of one pinned thread at one moment.
#[derive(Clone, Copy, Debug)]
struct Counters {
    preemptions: i64,
    /// Nanoseconds spent runnable but not running.
    waited_ns: u64,
    /// Clock ticks (10 ms) that the hypervisor kept the CPU.
    stolen_ticks: u64,
}

/// Being switched in takes a few microseconds of waiting now and then; a real wait is a scheduler's
/// slice.
const NOTICEABLE_WAIT_NS: u64 = 100_000;

/// Watches one thread, pinned to one CPU, sample by sample. Belongs to that thread.
#[derive(Debug)]
pub struct Watch {
    cpu: CpuId,
    schedstat: Option<File>,
    stat: Option<File>,
    before: Counters,
}

impl Watch {
    /// A watch for the calling thread, which must be pinned to `cpu`.
    pub fn new(cpu: CpuId) -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let stat = File::open("/proc/stat").ok();
        let before = Counters { preemptions: 0, waited_ns: 0, stolen_ticks: 0 };
        Self { cpu, schedstat, stat, before }
    }

    /// Call right before the sample.
    pub fn begin(&mut self) {
        self.before = self.read();
    }

    /// Call right after: what spoilt the sample, if anything did.
    pub fn end(&self) -> Result<(), Disturbance> {
        let after = self.read();
        let before = self.before;
        if affinity::current_cpu() != self.cpu {
            Err(Disturbance::Moved)
        } else if after.stolen_ticks > before.stolen_ticks {
            Err(Disturbance::Stolen)
        } else if after.preemptions > before.preemptions {
            Err(Disturbance::Preempted)
        } else if after.waited_ns > before.waited_ns + NOTICEABLE_WAIT_NS {
            Err(Disturbance::Waited)
        } else {
            Ok(())
        }
    }

    fn read(&self) -> Counters {
        Counters {
            preemptions: preemptions(),
            waited_ns: self.waited_ns().unwrap_or(0),
            stolen_ticks: self.stolen_ticks().unwrap_or(0),
        }
    }

    /// The second number of schedstat: time on a run queue.
    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = str::from_utf8(&text[..length]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    /// The eighth number of this CPU's line in /proc/stat.
    fn stolen_ticks(&self) -> Option<u64> {
        let mut text = vec![0; 160 * (self.cpu.0 as usize + 2)];
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        stolen_ticks(str::from_utf8(&text[..length]).ok()?, self.cpu)
    }
}

fn stolen_ticks(stat: &str, cpu: CpuId) -> Option<u64> {
    let line = stat.lines().find_map(|line| {
        let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
        (number.parse() == Ok(cpu.0)).then_some(rest)
    });
    line?.split_ascii_whitespace().nth(7)?.parse().ok()
}

/// How often the calling thread was preempted so far.
fn preemptions() -> i64 {
    usage().ru_nivcsw
}

/// How often the calling thread was switched off its CPU so far, of its own will (once per blocking
/// wait) or not.
pub fn switches() -> u64 {
    let usage = usage();
    (usage.ru_nvcsw + usage.ru_nivcsw).unsigned_abs()
}

fn usage() -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which all zeroes is a value; the kernel fills it in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_steal_of_the_right_cpu() {
        let stat =
            "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu10 1 2 3 4 5 6 7 80 0 0\n";
        assert_eq!(stolen_ticks(stat, CpuId(0)), Some(8));
        assert_eq!(stolen_ticks(stat, CpuId(10)), Some(80));
        assert_eq!(stolen_ticks(stat, CpuId(1)), None);
    }

    #[test]
    fn a_sleeping_thread_gives_up_its_cpu_and_is_seen_to() {
        let before = switches();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(switches() > before);
    }

    #[test]
    fn a_thread_on_another_cpu_than_claimed_is_moved() {
        let cpus = affinity::mask().unwrap();
        let (first, elsewhere) = (cpus.first().unwrap(), CpuId(cpus.last().unwrap().0 + 1));
        let verdict = affinity::on_cpu(first, || {
            let mut watch = Watch::new(elsewhere);
            watch.begin();
            watch.end()
        });
        assert_eq!(verdict.unwrap(), Err(Disturbance::Moved));
    }
}
