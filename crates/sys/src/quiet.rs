//! Detects whether a sample was disturbed.
//!
//! A sample is spoilt if its thread moved, lost a noticeable part of its time to others on its CPU,
//! or lost time to the hypervisor. All is read from the kernel's counters, so that samples are
//! dropped without regard to their value.
//!
//! Lost time counts, not preemptions: on an idle machine kernel threads preempt every few
//! milliseconds for some 5 µs, and a rule against that would drop all samples.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use hopcost_core::{CpuId, CpuSet, Disturbance};

use crate::process::activity::cpu_times;
use crate::process::ms_of_ticks;
use crate::{Root, affinity, clock};

#[derive(Clone, Copy, Debug)]
struct Counters {
    at: Instant,
    preemptions: i64,
    /// Runnable but not running; `None` if the kernel does not count it.
    waited_ns: Option<u64>,
    /// 10 ms each.
    stolen_ticks: u64,
}

/// A sample may lose one part in this many to others.
const TOLERABLE_LOSS: u64 = 200;

#[derive(Debug)]
pub struct Watch {
    cpu: CpuId,
    schedstat: Option<File>,
    stat: Option<File>,
    /// Buffer for /proc/stat up to this CPU's line.
    text: Vec<u8>,
    before: Option<Counters>,
}

impl Watch {
    /// The calling thread must be pinned to `cpu`.
    pub fn new(cpu: CpuId) -> Self {
        let stat = File::open("/proc/stat").ok();
        let text = vec![0; 160 * (cpu.0 as usize + 2)];
        let mut watch = Self { cpu, schedstat: None, stat, text, before: None };
        watch.follow_me();
        watch
    }

    /// Watches the calling thread, a fork of the original one. Neither this nor a sample allocates:
    /// another thread may have held the allocator's lock at the fork.
    pub fn follow_me(&mut self) {
        self.schedstat = File::open("/proc/thread-self/schedstat").ok();
    }

    pub fn begin(&mut self) {
        self.before = Some(self.read());
    }

    pub fn end(&mut self) -> Result<(), Disturbance> {
        let after = self.read();
        let Some(before) = self.before else { return Ok(()) };
        let preempted = after.preemptions > before.preemptions;
        let spoilt = match (before.waited_ns, after.waited_ns) {
            (Some(then), Some(now)) => {
                let took_ns = (after.at - before.at).as_nanos() as u64;
                now.saturating_sub(then) * TOLERABLE_LOSS > took_ns
            }
            // If the kernel does not count lost time, any preemption may have been long.
            _ => preempted,
        };
        if affinity::current_cpu() != self.cpu {
            Err(Disturbance::Moved)
        } else if after.stolen_ticks > before.stolen_ticks {
            Err(Disturbance::Stolen)
        } else if spoilt && preempted {
            Err(Disturbance::Preempted)
        } else if spoilt {
            Err(Disturbance::Waited)
        } else {
            Ok(())
        }
    }

    /// For work that blocks by design, where being switched is no disturbance.
    pub fn end_blocking(&mut self) -> Result<(), Disturbance> {
        match self.end() {
            Err(Disturbance::Preempted | Disturbance::Waited) => Ok(()),
            verdict => verdict,
        }
    }

    fn read(&mut self) -> Counters {
        Counters {
            at: clock::now(),
            preemptions: preemptions(),
            waited_ns: self.waited_ns(),
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
    fn stolen_ticks(&mut self) -> Option<u64> {
        let length = self.stat.as_ref()?.read_at(&mut self.text, 0).ok()?;
        stolen_ticks(str::from_utf8(&self.text[..length]).ok()?, self.cpu)
    }
}

pub fn stolen_ticks_of(cpus: &CpuSet) -> u64 {
    let times = cpu_times(&Root::live()).ok().unwrap_or_default();
    let stolen_ms = cpus.iter().filter_map(|cpu| Some(times.get(&cpu)?.steal_ms)).sum::<u64>();
    stolen_ms / ms_of_ticks(1).max(1)
}

fn stolen_ticks(stat: &str, cpu: CpuId) -> Option<u64> {
    let line = stat.lines().find_map(|line| {
        let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
        (number.parse() == Ok(cpu.0)).then_some(rest)
    });
    line?.split_ascii_whitespace().nth(7)?.parse().ok()
}

fn preemptions() -> i64 {
    usage().ru_nivcsw
}

/// Voluntary (once per blocking wait) or not.
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
    fn a_thread_that_shares_its_cpu_is_preempted() {
        let cpu = affinity::mask().unwrap().first().unwrap();
        let verdicts = affinity::crew(&[cpu, cpu], |_| {
            let mut watch = Watch::new(cpu);
            watch.begin();
            let start = clock::now();
            while start.elapsed().as_millis() < 100 {}
            watch.end()
        });
        let spoilt =
            [Err(Disturbance::Preempted), Err(Disturbance::Waited), Err(Disturbance::Stolen)];
        for verdict in verdicts.unwrap() {
            assert!(spoilt.contains(&verdict), "{verdict:?}");
        }
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
