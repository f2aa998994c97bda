//! Whether other processes of this host get the CPUs that they want.
//!
//! Method: the kernel counts how long each thread could have run but waited for a CPU
//! (`schedstat`). It is read for chosen servers and any other busy process, without kernel threads
//! and hopcost's own processes. Steal comes from `/proc/stat`, free memory from `/proc/meminfo`.
//!
//! Limits: processes are listed every two seconds, so a thread that begins and ends in between is
//! missed. Waiting for disks or locks is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hopcost_core::Known;

use super::activity::{CpuTime, cpu_times};
use super::processes::{self, CpuShare, Processes};
use crate::topology::machine_memory;
use crate::{Root, clock};

#[derive(Clone, Debug, PartialEq)]
pub struct Strain {
    pub over: Duration,
    pub others: Vec<Fare>,
    pub stolen: f64,
    pub available_bytes: Known<u64>,
    /// Memory of hopcost, without files' pages.
    pub own_bytes: Known<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fare {
    pub who: String,
    /// 1.0 is one CPU all the time.
    pub ran_cpus: f64,
    /// CPUs it would have used in addition.
    pub waited_cpus: f64,
}

const AT_WORK_CPUS: f64 = 0.01;
const CENSUS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Watch {
    servers: Vec<(String, u32)>,
    at: Instant,
    census: Census,
    turns: BTreeMap<u32, CpuShare>,
    cpu: CpuTime,
}

#[derive(Debug, Default)]
struct Census {
    due: bool,
    age: Duration,
    all: Processes,
    ours: BTreeSet<u32>,
    groups: Vec<(String, BTreeSet<u32>)>,
    at_work: BTreeMap<u32, String>,
}

impl Watch {
    /// Servers by name and first process. Any other busy process is watched, too.
    pub fn over(servers: Vec<(String, u32)>) -> Self {
        Self {
            servers,
            at: clock::now(),
            census: Census { due: true, ..Census::default() },
            turns: BTreeMap::new(),
            cpu: CpuTime::default(),
        }
    }

    /// The first look only begins the count. `ours` and their descendants count as hopcost's own
    /// processes.
    pub fn look(&mut self, root: &Root, ours: &BTreeSet<u32>) -> Strain {
        let over = self.at.elapsed();
        self.at = clock::now();
        self.see(root, ours, over)
    }

    pub fn recount(&mut self) {
        self.census.due = true;
    }

    fn see(&mut self, root: &Root, ours: &BTreeSet<u32>, over: Duration) -> Strain {
        self.census.age += over;
        if self.census.due || self.census.age >= CENSUS {
            self.census.take(root, &self.servers, ours);
        }
        Strain {
            over,
            others: self.fares(root, over),
            stolen: self.stolen(root),
            available_bytes: machine_memory(root, "MemAvailable"),
            own_bytes: processes::memory_bytes(root, &self.census.ours),
        }
    }

    fn fares(&mut self, root: &Root, over: Duration) -> Vec<Fare> {
        let before = std::mem::take(&mut self.turns);
        let now = &mut self.turns;
        let mut fare = |who: &str, pids: &mut dyn Iterator<Item = u32>| {
            let mut sum = CpuShare::default();
            for (thread, turns) in pids.flat_map(|pid| processes::turns(root, pid)) {
                // Time before a thread was first seen does not count.
                let then = before.get(&thread).unwrap_or(&turns);
                let add = |sum: u64, now: u64, then| sum.saturating_add(now.saturating_sub(then));
                sum.ran_ns = add(sum.ran_ns, turns.ran_ns, then.ran_ns);
                sum.waited_ns = add(sum.waited_ns, turns.waited_ns, then.waited_ns);
                now.insert(thread, turns);
            }
            let cpus = |ns: u64| ns as f64 / (over.as_nanos().max(1) as f64);
            let (ran_cpus, waited_cpus) = (cpus(sum.ran_ns), cpus(sum.waited_ns));
            Fare { who: who.to_owned(), ran_cpus, waited_cpus }
        };
        let mut fares = Vec::new();
        for (who, pids) in &self.census.groups {
            fares.push(fare(who, &mut pids.iter().copied()));
        }
        for (pid, who) in &self.census.at_work {
            fares.push(fare(who, &mut std::iter::once(*pid)));
        }
        fares
    }

    fn stolen(&mut self, root: &Root) -> f64 {
        let cpus = cpu_times(root).ok().unwrap_or_default();
        let now = cpus.into_values().fold(CpuTime::default(), |a, b| a.zip(b, |a, b| a + b));
        let time = now.zip(self.cpu, u64::saturating_sub);
        self.cpu = now;
        let all_ms = time.user_ms + time.system_ms + time.idle_ms + time.steal_ms;
        time.steal_ms as f64 / all_ms.max(1) as f64
    }
}

impl Census {
    fn take(&mut self, root: &Root, servers: &[(String, u32)], ours: &BTreeSet<u32>) {
        let Known::Is(all) = processes::read(root) else { return };
        let us = processes::ourselves(root).ok();
        self.ours = all.trees(ours.iter().copied().chain(us));
        let tree = |head: u32| all.tree(head).difference(&self.ours).copied().collect();
        self.groups = servers.iter().map(|(who, head)| (who.clone(), tree(*head))).collect();
        let looked_after = |pid: u32| self.groups.iter().any(|(_, pids)| pids.contains(&pid));
        let is_other =
            |pid: u32| !all.is_kernel(pid) && !self.ours.contains(&pid) && !looked_after(pid);
        // A busy process stays watched: if it gets no CPU any more, it uses none.
        self.at_work.retain(|pid, _| all.get(*pid).is_some() && is_other(*pid));
        for (pid, process) in all.iter().filter(|(pid, _)| is_other(*pid)) {
            // At the first listing, everything since boot would count.
            let Some(then) = self.all.get(pid) else { continue };
            let used_ms = process.used_ms.saturating_sub(then.used_ms);
            if used_ms as f64 / 1000.0 > AT_WORK_CPUS * self.age.as_secs_f64() {
                let who = || format!("{} (pid {pid})", process.name);
                self.at_work.entry(pid).or_insert_with(who);
            }
        }
        self.all = all;
        (self.age, self.due) = (Duration::ZERO, false);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// A server (pid 50, worker 51), another process (60), a kernel thread (3) and hopcost (70),
    /// with the ms that each thread ran and waited.
    fn host(turns: &[(u32, u64, u64)], steal: u64) -> Root {
        let mut text = String::from("hopcost machine recording, version 1\n");
        let ran = |pid: u32| turns.iter().find(|(of, ..)| *of == pid).map_or(0, |(_, ran, _)| *ran);
        for (pid, name, parent) in [
            (1, "init", 0),
            (2, "kthreadd", 0),
            (3, "kworker", 2),
            (50, "postgres", 1),
            (51, "postgres", 50),
            (60, "java", 1),
            (70, "hopcost", 1),
        ] {
            let ticks = ran(pid) / 10;
            let stat = format!("{pid} ({name}) S {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20");
            let _ = writeln!(text, "> proc/{pid}/stat\n{stat}");
        }
        for (thread, ran, waited) in turns {
            let (ran, waited) = (ran * 1_000_000, waited * 1_000_000);
            let _ = writeln!(text, "> proc/{thread}/task/{thread}/schedstat\n{ran} {waited} 1");
        }
        text += "> proc/self/stat\n70 (hopcost) S 1\n> proc/70/status\nRssAnon: 2048 kB\n";
        text += "> proc/meminfo\nMemAvailable: 4096 kB\n";
        let _ = writeln!(text, "> proc/stat\ncpu0 0 0 0 {} 0 0 0 {steal} 0 0", 1000 - steal);
        Root::from_text(&text).unwrap()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn others_that_want_a_cpu_are_told_apart_from_us_and_from_the_kernel() {
        let mut watch = Watch::over(vec![("PostgreSQL".into(), 50)]);
        let nobody = BTreeSet::new();
        watch.see(&host(&[(50, 0, 0), (51, 0, 0), (60, 0, 0), (70, 0, 0)], 0), &nobody, SECOND);
        watch.recount();
        let busy = host(&[(50, 10, 0), (51, 200, 90), (60, 400, 5), (70, 900, 0), (3, 300, 0)], 0);
        let first = watch.see(&busy, &nobody, SECOND);
        let who: Vec<&str> = first.others.iter().map(|fare| fare.who.as_str()).collect();
        assert_eq!(who, ["PostgreSQL", "java (pid 60)"]);
        assert!((first.others[0].ran_cpus - 0.21).abs() < 1e-9, "{first:?}");
        assert!((first.others[0].waited_cpus - 0.09).abs() < 1e-9, "{first:?}");
        assert!(first.others[1].ran_cpus.abs() < 1e-9, "{first:?}");
        assert_eq!(first.own_bytes, Known::Is(2 << 20));
        assert_eq!(first.available_bytes, Known::Is(4 << 20));
        let later = host(&[(50, 10, 0), (51, 200, 90), (60, 500, 305), (70, 1900, 0)], 0);
        let later = watch.see(&later, &nobody, SECOND);
        assert!((later.others[1].waited_cpus - 0.3).abs() < 1e-9, "{later:?}");
    }

    #[test]
    fn what_is_declared_ours_is_not_looked_after() {
        let mut watch = Watch::over(vec![("PostgreSQL".into(), 50)]);
        let strain =
            watch.see(&host(&[(50, 0, 0), (51, 10, 10)], 0), &BTreeSet::from([51]), SECOND);
        assert!(strain.others[0].ran_cpus.abs() < 1e-9);
        assert_eq!(watch.census.groups[0].1, BTreeSet::from([50]));
        assert_eq!(watch.census.ours, BTreeSet::from([51, 70]));
    }

    #[test]
    fn steal_is_that_of_the_last_while() {
        let mut watch = Watch::over(Vec::new());
        let nobody = BTreeSet::new();
        watch.see(&host(&[], 500), &nobody, SECOND);
        let strain = watch.see(&host(&[], 600), &nobody, SECOND);
        assert!(strain.stolen > 0.99, "{strain:?}");
        assert!(strain.others.is_empty());
    }

    #[test]
    fn on_the_live_system_something_is_seen_of_ourselves() {
        let mut watch = Watch::over(vec![("init".into(), 1)]);
        let strain = watch.look(&Root::live(), &BTreeSet::new());
        assert!(strain.own_bytes.get().is_some_and(|bytes| *bytes > 0), "{strain:?}");
        assert!(
            strain.others.iter().all(|fare| !fare.who.contains(&std::process::id().to_string()))
        );
    }
}
