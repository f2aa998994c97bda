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

/// Watches how much of some CPUs is used by others than this process, its descendants, and the kernel,
/// whose threads also work for this process, e.g. when they write its files.
#[derive(Debug)]
pub struct Others {
    began: Instant,
    cpus: CpuSet,
    before: Moment,
}

impl Others {
    const TOLERABLE_CPUS: f64 = 0.05;

    /// `None` if the kernel does not tell.
    pub fn watch(root: &Root, cpus: &CpuSet) -> Option<Self> {
        let before = Moment::read(root);
        let is_told = !before.cpus.is_empty() && !before.processes.is_empty();
        is_told.then(|| Self { began: clock::now(), cpus: cpus.clone(), before })
    }

    /// Have they used more than 5% of a CPU? Children that have ended are waited for before.
    pub fn contend(&self, root: &Root) -> bool {
        let Some(us) = processes::ourselves(root).ok() else { return false };
        let used_ms = self.used_ms(&Moment::read(root), us);
        let cpus = used_ms as f64 / 1000.0 / self.began.elapsed().as_secs_f64().max(1e-9);
        cpus > Self::TOLERABLE_CPUS
    }

    fn used_ms(&self, after: &Moment, us: u32) -> u64 {
        let busy_ms = |moment: &Moment| -> u64 {
            let times = moment.cpus.iter().filter(|(cpu, _)| self.cpus.contains(**cpu));
            times.map(|(_, time)| time.user_ms.saturating_add(time.system_ms)).sum()
        };
        let own_ms = |moment: &Moment| moment.processes.used_ms(&moment.processes.tree(us));
        let kernel = after.processes.iter().filter(|(pid, thread)| {
            let is_there = thread.last_cpu.is_none_or(|cpu| self.cpus.contains(cpu));
            after.processes.is_kernel(*pid) && is_there
        });
        let kernel_ms: u64 = kernel
            .map(|(pid, now)| {
                let then = self.before.processes.get(pid).map_or(0, |then| then.used_ms);
                now.used_ms.saturating_sub(then)
            })
            .sum();
        let busy_ms = busy_ms(after).saturating_sub(busy_ms(&self.before));
        let own_ms = own_ms(after).saturating_sub(own_ms(&self.before));
        busy_ms.saturating_sub(own_ms).saturating_sub(kernel_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_its_children_and_the_kernel_use_is_not_others() {
        // Ticks: busy on CPU 0, of this process and its reaped children, of a child, of kernel threads.
        let moment = |busy: u64, [own, reaped, child, kernel, elsewhere]: [u64; 5]| {
            let process = |pid: u32, parent: u32, ticks: [u64; 2], cpu: u32| {
                let [own, reaped] = ticks;
                format!(
                    "> proc/{pid}/stat\n{pid} (x) S {parent} 0 0 0 -1 0 0 0 0 0 {own} 0 {reaped} 0 20 0 1 0 \
                     100{} {cpu}\n",
                    " 0".repeat(16)
                )
            };
            let processes = [
                process(2, 0, [0, 0], 1),
                process(7, 1, [own, reaped], 0),
                process(8, 7, [child, 0], 0),
                process(9, 2, [kernel, 0], 0),
                process(10, 2, [elsewhere, 0], 1),
            ];
            let text = format!(
                "hopcost machine recording, version 1\n> proc/stat\ncpu0 {busy} 0 0 0 0 0 0 0 0 0\n\
                 cpu1 999 0 0 0 0 0 0 0 0 0\n{}",
                processes.concat()
            );
            Moment::read(&Root::from_text(&text).unwrap())
        };
        let cpus = CpuSet::parse_list("0").unwrap();
        let began = clock::now();
        let used = |busy, after| {
            let before = moment(1000, [50, 0, 20, 5, 5]);
            let others = Others { began, cpus: cpus.clone(), before };
            others.used_ms(&moment(busy, after), 7)
        };
        assert_eq!(used(1100, [50, 0, 20, 5, 5]), ms_of_ticks(100));
        assert_eq!(used(1100, [80, 0, 40, 25, 5]), ms_of_ticks(30));
        // What a reaped child had used before counts for neither.
        assert_eq!(used(1100, [80, 40, 0, 5, 5]), ms_of_ticks(50));
        assert_eq!(used(1100, [50, 0, 20, 5, 95]), ms_of_ticks(100), "on another CPU");
        assert_eq!(used(1100, [250, 0, 20, 5, 5]), 0);
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
