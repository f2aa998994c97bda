//! CPU time by CPU over a short while, and the processes that used it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hopcost_core::{CpuId, CpuSet, Known};
use serde::Serialize;

use super::processes::{self, Processes};
use super::stat::{Stat, ms_of_ticks};
use crate::{Root, clock};

#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    pub over: Duration,
    /// Busy share of each CPU, 0 to 1.
    pub busy: BTreeMap<CpuId, f64>,
    pub stolen: f64,
    pub processes: Vec<Process>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    /// 1.0 is one CPU all the time.
    pub cpus: f64,
}

/// Since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Nice programs included.
    pub user_ms: u64,
    /// Interrupts included.
    pub system_ms: u64,
    /// Waiting for a disk included.
    pub idle_ms: u64,
    pub steal_ms: u64,
}

impl CpuTime {
    #[must_use]
    pub fn zip(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user_ms: each(self.user_ms, other.user_ms),
            system_ms: each(self.system_ms, other.system_ms),
            idle_ms: each(self.idle_ms, other.idle_ms),
            steal_ms: each(self.steal_ms, other.steal_ms),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    pub cpus: BTreeMap<CpuId, CpuTime>,
    pub processes: Processes,
}

impl Moment {
    /// What cannot be read is empty.
    pub fn read(root: &Root) -> Self {
        Self {
            cpus: cpu_times(root).ok().unwrap_or_default(),
            processes: processes::read(root).ok().unwrap_or_default(),
        }
    }
}

/// Without this process.
pub fn watch(over: Duration) -> Activity {
    let root = Root::live();
    let us = processes::ourselves(&root).ok();
    let (before, start) = (Moment::read(&root), clock::now());
    std::thread::sleep(over);
    let mut activity = between(&before, &Moment::read(&root), start.elapsed());
    activity.processes.retain(|process| Some(process.pid) != us);
    activity
}

pub fn between(before: &Moment, after: &Moment, over: Duration) -> Activity {
    let mut busy = BTreeMap::new();
    let (mut stolen, mut total) = (0, 0);
    for (cpu, now) in &after.cpus {
        let Some(then) = before.cpus.get(cpu) else { continue };
        let time = now.zip(*then, u64::saturating_sub);
        let worked_ms = time.user_ms + time.system_ms;
        let all_ms = (worked_ms + time.idle_ms + time.steal_ms).max(1);
        busy.insert(*cpu, worked_ms as f64 / all_ms as f64);
        stolen += time.steal_ms;
        total += all_ms;
    }
    let used_ms = |pid, now: &processes::Process| {
        now.used_ms.saturating_sub(before.processes.get(pid).map_or(0, |then| then.used_ms))
    };
    let all = after.processes.iter().map(|(pid, process)| Process {
        pid,
        name: process.name.clone(),
        cpus: used_ms(pid, process) as f64 / 1000.0 / over.as_secs_f64(),
    });
    let mut processes: Vec<Process> = all.filter(|process| process.cpus > 0.0).collect();
    processes.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    Activity { over, busy, stolen: stolen as f64 / total.max(1) as f64, processes }
}

/// Only on-line CPUs. The kernel counts in ticks of some 10 ms, and now and then takes a tick of
/// idle time back.
pub fn cpu_times(root: &Root) -> Known<BTreeMap<CpuId, CpuTime>> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let cpu: u32 = name.strip_prefix("cpu")?.parse().ok()?;
        let n: Vec<u64> = rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *n.get(..8)? else {
            return None;
        };
        let time = CpuTime {
            user_ms: ms_of_ticks(user.saturating_add(nice)),
            system_ms: ms_of_ticks(system.saturating_add(irq).saturating_add(softirq)),
            idle_ms: ms_of_ticks(idle.saturating_add(iowait)),
            steal_ms: ms_of_ticks(steal),
        };
        Some((CpuId(cpu), time))
    };
    root.text("proc/stat").map(|stat| stat.lines().filter_map(line).collect())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// From memory or from a disk.
    pub page_faults: u64,
    pub program_ms: u64,
    pub kernel_ms: u64,
}

/// `None` if it has ended.
pub fn worker_time(root: &Root, number: u32) -> Option<WorkerTime> {
    let stat = root.text(&format!("proc/{number}/stat")).ok()?;
    let stat = Stat::parse(&stat)?;
    Some(WorkerTime {
        page_faults: stat.field::<u64>(10)?.saturating_add(stat.field(12)?),
        program_ms: ms_of_ticks(stat.field(14)?),
        kernel_ms: ms_of_ticks(stat.field(15)?),
    })
}

/// Watches how much of some CPUs is used by others than this process and its children.
#[derive(Debug)]
pub struct Others {
    began: Instant,
    used_ms: u64,
}

impl Others {
    /// `None` if the kernel does not tell.
    pub fn watch(root: &Root, cpus: &CpuSet) -> Option<Self> {
        Some(Self { began: clock::now(), used_ms: used_by_others_ms(root, cpus)? })
    }

    /// 1.0 is one CPU all the time.
    pub fn used_cpus(&self, root: &Root, cpus: &CpuSet) -> Option<f64> {
        let used_ms = used_by_others_ms(root, cpus)?.saturating_sub(self.used_ms);
        Some(used_ms as f64 / 1000.0 / self.began.elapsed().as_secs_f64().max(1e-9))
    }
}

fn used_by_others_ms(root: &Root, cpus: &CpuSet) -> Option<u64> {
    let times = cpu_times(root).ok()?;
    let busy = times.iter().filter(|(cpu, _)| cpus.contains(**cpu));
    let busy_ms: u64 = busy.map(|(_, time)| time.user_ms.saturating_add(time.system_ms)).sum();
    let stat = root.text("proc/self/stat").ok()?;
    let stat = Stat::parse(&stat)?;
    // In programs and in the kernel; then the same of children that have ended.
    let own = (14..=17).filter_map(|field| stat.field::<u64>(field));
    Some(busy_ms.saturating_sub(ms_of_ticks(own.sum())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_and_its_children_use_is_not_others() {
        let root = |busy: u64, own: [u64; 4]| {
            let [a, b, c, d] = own;
            let stat = format!("7 (hopcost) S 1 7 7 0 -1 0 0 0 0 0 {a} {b} {c} {d} 20 0 1 0 100");
            Root::from_text(&format!(
                "hopcost machine recording, version 1\n> proc/stat\ncpu0 {busy} 0 0 0 0 0 0 0 0 0\n\
                 cpu1 999 0 0 0 0 0 0 0 0 0\n> proc/self/stat\n{stat}\n"
            ))
            .unwrap()
        };
        let cpus = CpuSet::parse_list("0").unwrap();
        let used = |busy, own| used_by_others_ms(&root(busy, own), &cpus).unwrap();
        assert_eq!(used(100, [0; 4]), ms_of_ticks(100));
        assert_eq!(used(100, [40, 30, 20, 10]), 0);
        assert_eq!(used(150, [40, 30, 20, 10]) - used(110, [40, 30, 20, 5]), ms_of_ticks(35));
    }

    #[test]
    fn shares_come_from_differences() {
        let moment = |(user, idle, steal): (u64, u64, u64), ticks: u64| {
            let stat = format!("cpu3 {user} 0 0 {idle} 0 0 0 {steal} 0 0");
            let process = format!("7 (postgres) S 1 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0");
            let text = format!(
                "hopcost machine recording, version 1\n> proc/stat\n{stat}\n> proc/7/stat\n{process}\n"
            );
            Moment::read(&Root::from_text(&text).unwrap())
        };
        let (before, after) = (moment((10, 10, 0), 100), moment((40, 60, 20), 150));
        let over = Duration::from_millis(50 * ms_of_ticks(1) * 2);
        let activity = between(&before, &after, over);
        assert!((activity.busy[&CpuId(3)] - 0.3).abs() < 1e-9);
        assert!((activity.stolen - 0.2).abs() < 1e-9);
        assert_eq!(activity.processes[0].name, "postgres");
        assert!((activity.processes[0].cpus - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_time_of_a_cpu_is_read_in_its_four_kinds() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu2 100 10 20 400 50 3 7 8 99 99\nintr 5\n";
        let root =
            Root::from_text(&format!("hopcost machine recording, version 1\n> proc/stat\n{stat}"));
        let ms = ms_of_ticks(1);
        let time =
            CpuTime { user_ms: 110 * ms, system_ms: 30 * ms, idle_ms: 450 * ms, steal_ms: 8 * ms };
        assert_eq!(cpu_times(&root.unwrap()), Known::Is(BTreeMap::from([(CpuId(2), time)])));
    }

    #[test]
    fn a_spinning_child_is_seen_by_name() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let activity = watch(Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        let seen = activity.processes.iter().find(|process| process.pid == child.id()).unwrap();
        // Many may want the CPUs.
        assert!(seen.name == "sh" && seen.cpus > 0.05, "{seen:?}");
    }
}
