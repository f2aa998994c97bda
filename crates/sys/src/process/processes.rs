//! Processes: their parents, CPU time, memory, and time spent waiting.
//!
//! Method: `/proc/PID/stat`, `cmdline`, `status` and `task/*/schedstat`, read through a [`Root`].
//! CPU time includes that of reaped children, so that a tree's use is the difference of two sums
//! even if its workers come and go.
//!
//! Limits: ticks of 10 ms. Processes of other pid namespaces or hidden by `hidepid` are not seen. A
//! thread that begins and ends between two looks leaves no waiting time.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{Code, CpuId, Known};

use super::stat::{Stat, ms_of_ticks};
use crate::Root;
use crate::text::{bytes_of_kib, field};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub parent: u32,
    /// Cut at 15 letters.
    pub name: String,
    /// Not reaped yet, so its times still count.
    pub ended: bool,
    /// Of its threads, ended ones included.
    pub used_ms: u64,
    /// Of reaped children, and of theirs.
    pub reaped_ms: u64,
    pub last_cpu: Option<CpuId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes(BTreeMap<u32, Process>);

/// Parent of the kernel's own threads.
const KTHREADD: u32 = 2;

pub fn read(root: &Root) -> Known<Processes> {
    root.numbered("proc", "").and_then(|pids| {
        // One that ends meanwhile is skipped.
        let process = |pid: u32| Some((pid, parse(&root.text(&format!("proc/{pid}/stat")).ok()?)?));
        let all: BTreeMap<u32, Process> = pids.into_iter().filter_map(process).collect();
        if all.is_empty() {
            Known::missing(Code::NotApplicable, "/proc shows no process")
        } else {
            Known::Is(Processes(all))
        }
    })
}

fn parse(text: &str) -> Option<Process> {
    let stat = Stat::parse(text)?;
    let ticks = |number| stat.field::<u64>(number);
    Some(Process {
        parent: stat.field(4)?,
        name: stat.name.to_owned(),
        ended: stat.has_ended(),
        used_ms: ms_of_ticks(ticks(14)?.saturating_add(ticks(15)?)),
        // A kernel may write −1 for child times that it does not keep.
        reaped_ms: ms_of_ticks(ticks(16).unwrap_or(0).saturating_add(ticks(17).unwrap_or(0))),
        last_cpu: stat.field(39).map(CpuId),
    })
}

impl Processes {
    pub fn get(&self, pid: u32) -> Option<&Process> {
        self.0.get(&pid)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.0.iter().map(|(pid, process)| (*pid, process))
    }

    /// Empty if the process is gone.
    pub fn tree(&self, head: u32) -> BTreeSet<u32> {
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (pid, process) in self.iter() {
            children.entry(process.parent).or_default().push(pid);
        }
        let (mut tree, mut open) = (BTreeSet::new(), Vec::from_iter(self.get(head).map(|_| head)));
        while let Some(pid) = open.pop() {
            if tree.insert(pid) {
                open.extend(children.get(&pid).into_iter().flatten());
            }
        }
        tree
    }

    pub fn trees(&self, heads: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        heads.into_iter().flat_map(|head| self.tree(head)).collect()
    }

    /// Reaped children included.
    pub fn used_ms(&self, pids: &BTreeSet<u32>) -> u64 {
        let here = pids.iter().filter_map(|pid| self.get(*pid));
        here.map(|process| process.used_ms + process.reaped_ms).sum()
    }

    pub fn is_kernel(&self, pid: u32) -> bool {
        pid == KTHREADD || self.get(pid).is_some_and(|process| process.parent == KTHREADD)
    }
}

/// As the files of the root have it.
pub fn ourselves(root: &Root) -> Known<u32> {
    root.text("proc/self/stat").and_then(|stat| {
        let pid = stat.split_whitespace().next().and_then(|pid| pid.parse().ok());
        Known::found(pid, Code::Malformed, || "/proc/self/stat is odd")
    })
}

/// Its command line, or what it wrote in its place.
pub fn title(root: &Root, pid: u32) -> Known<String> {
    let text = root.text(&format!("proc/{pid}/cmdline"));
    text.map(|text| text.replace('\0', " ").trim_end().to_owned())
}

pub fn of_thread(root: &Root, thread: u32) -> Option<(u32, String)> {
    let status = root.text(&format!("proc/{thread}/status")).ok()?;
    let pid = field(&status, "Tgid")?.parse().ok()?;
    let name = root.text(&format!("proc/{pid}/comm")).ok()?;
    Some((pid, name.trim_end().to_owned()))
}

pub fn user(root: &Root, pid: u32) -> Option<u32> {
    let status = root.text(&format!("proc/{pid}/status")).ok()?;
    field(&status, "Uid")?.split_whitespace().next()?.parse().ok()
}

/// Without files: each process's private memory, and shared memory once, as the process shows it
/// that has touched most of it.
pub fn memory_bytes(root: &Root, pids: &BTreeSet<u32>) -> Known<u64> {
    let (mut private, mut shared, mut huge, mut seen) = (0_u64, 0, 0, false);
    for pid in pids {
        let Known::Is(status) = root.text(&format!("proc/{pid}/status")) else { continue };
        let bytes = |key: &str| field(&status, key).and_then(bytes_of_kib);
        seen |= bytes("RssAnon").is_some();
        private = private.saturating_add(bytes("RssAnon").unwrap_or(0));
        shared = shared.max(bytes("RssShmem").unwrap_or(0));
        huge = huge.max(bytes("HugetlbPages").unwrap_or(0));
    }
    if seen {
        return Known::Is(private.saturating_add(shared + huge));
    }
    Known::missing(
        Code::NotTold,
        "the kernel does not tell what of a process's memory is whose (Linux 4.5 does)",
    )
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuShare {
    pub ran_ns: u64,
    /// Runnable, but waiting for a CPU.
    pub waited_ns: u64,
}

/// By thread id; empty if the process has ended.
pub fn turns(root: &Root, pid: u32) -> BTreeMap<u32, CpuShare> {
    let threads = root.numbered(&format!("proc/{pid}/task"), "").ok().unwrap_or_default();
    let of_thread = |thread: u32| {
        let text = root.text(&format!("proc/{pid}/task/{thread}/schedstat")).ok()?;
        let mut words = text.split_whitespace().map_while(|word| word.parse().ok());
        Some((thread, CpuShare { ran_ns: words.next()?, waited_ns: words.next()? }))
    };
    threads.into_iter().filter_map(of_thread).collect()
}

/// This thread has run, so 0 means that the kernel does not count.
pub fn turns_are_counted(root: &Root) -> Known<()> {
    root.text("proc/self/schedstat").and_then(|text| match text.split_whitespace().next() {
        Some(ran) if ran != "0" => Known::Is(()),
        _ => Known::missing(
            Code::NotTold,
            "this kernel does not count how long threads wait for a CPU",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &str) -> Root {
        Root::from_text(&format!("hopcost machine recording, version 1\n{files}")).unwrap()
    }

    fn stat(pid: u32, name: &str, parent: u32, used: u64, reaped: u64) -> String {
        format!(
            "> proc/{pid}/stat\n{pid} ({name}) S {parent} 0 0 0 -1 0 1 2 3 4 {used} 0 {reaped} 0 20 0 1 0\n"
        )
    }

    fn family() -> Root {
        root(
            &[
                stat(1, "init", 0, 1, 90),
                stat(2, "kthreadd", 0, 0, 0),
                stat(3, "kworker/0:1", 2, 7, 0),
                stat(40, "postgres", 1, 10, 30),
                // Numbers wrap around: a child may have a smaller one.
                stat(12, "postgres", 40, 5, 0),
                stat(41, "od) d (name", 12, 2, 0),
            ]
            .concat(),
        )
    }

    #[test]
    fn a_tree_is_a_process_with_all_that_descend_from_it() {
        let all = read(&family()).ok().unwrap();
        assert_eq!(all.tree(40), BTreeSet::from([12, 40, 41]));
        assert_eq!(all.trees([12, 3]), BTreeSet::from([3, 12, 41]));
        assert!(all.tree(99).is_empty());
        assert_eq!(all.get(41).unwrap().name, "od) d (name");
        let of_kernel: Vec<u32> =
            all.iter().map(|(pid, _)| pid).filter(|p| all.is_kernel(*p)).collect();
        assert_eq!(of_kernel, [2, 3]);
    }

    #[test]
    fn what_a_tree_used_outlives_its_workers() {
        let all = read(&family()).ok().unwrap();
        // Worker 41 ends and is reaped.
        let after = [stat(40, "postgres", 1, 10, 30), stat(12, "postgres", 40, 5, 2)].concat();
        let after = read(&root(&after)).ok().unwrap();
        assert_eq!(all.used_ms(&all.tree(40)), ms_of_ticks(10 + 30 + 5 + 2));
        assert_eq!(after.used_ms(&after.tree(40)), all.used_ms(&all.tree(40)));
    }

    #[test]
    fn memory_that_is_shared_counts_once() {
        let status = |pid: u32, anon: u32, shared: u32| {
            format!(
                "> proc/{pid}/status\nUid:\t26\t26\t26\t26\nRssAnon:\t{anon} kB\nRssFile:\t9 kB\n\
                 RssShmem:\t{shared} kB\nHugetlbPages:\t100 kB\n"
            )
        };
        let root = root(&[status(7, 10, 500), status(8, 20, 300)].concat());
        assert_eq!(memory_bytes(&root, &BTreeSet::from([7, 8, 9])), Known::Is(630 << 10));
        assert!(memory_bytes(&root, &BTreeSet::from([9])).get().is_none());
        assert_eq!((user(&root, 8), user(&root, 9)), (Some(26), None));
    }

    #[test]
    fn a_thread_tells_how_long_it_waited() {
        let root = root(
            "> proc/5/task/5/schedstat\n100 20 3\n> proc/5/task/6/schedstat\n7 8 9\n\
             > proc/self/schedstat\n0 0 0\n> proc/5/cmdline\nmysqld --port=3306\n",
        );
        let expected = [
            (5, CpuShare { ran_ns: 100, waited_ns: 20 }),
            (6, CpuShare { ran_ns: 7, waited_ns: 8 }),
        ];
        assert_eq!(turns(&root, 5), BTreeMap::from(expected));
        assert!(turns(&root, 6).is_empty());
        assert!(turns_are_counted(&root).get().is_none());
        assert_eq!(title(&root, 5), Known::Is("mysqld --port=3306".into()));
    }

    #[test]
    fn we_are_among_the_living() {
        let root = Root::live();
        let (all, us) = (read(&root).ok().unwrap(), ourselves(&root).ok().unwrap());
        assert_eq!(us, std::process::id());
        assert!(all.tree(us).contains(&us) && !all.is_kernel(us));
        assert!(memory_bytes(&root, &all.tree(us)).ok().unwrap() > 100 << 10);
        if turns_are_counted(&root).get().is_some() {
            assert!(turns(&root, us).values().any(|turns| turns.ran_ns > 0));
        }
    }
}
