//! Placement of a process or thread: its CPUs, its last CPU, its start and its memory.
//!
//! Method: `stat` and `status` of `/proc/PID` or `/proc/PID/task/TID`, read through a [`Root`]. Any
//! user may read them unless `/proc` is mounted with `hidepid`.
//!
//! Limits: a waiting thread is on no CPU, and may wake on another than its last.

use std::str::FromStr;

use hopcost_core::{Code, CpuId, CpuSet, Known};

use super::stat::{Stat, ms_of_ticks};
use crate::Root;
use crate::text::{self, bytes_of_kib};

/// The files of a process are those of its first thread.
pub fn of_process(pid: u32) -> String {
    format!("proc/{pid}")
}

pub fn of_thread(pid: u32, tid: u32) -> String {
    format!("proc/{pid}/task/{tid}")
}

pub fn cpus(root: &Root, at: &str) -> Known<CpuSet> {
    told(root, at, "Cpus_allowed_list").and_then(|list| match CpuSet::parse_list(&list) {
        Ok(cpus) => Known::Is(cpus),
        Err(error) => Known::missing(Code::Unreadable, format!("/{at}/status: {error}")),
    })
}

pub fn last_cpu(root: &Root, at: &str) -> Known<CpuId> {
    field(root, at, 39).map(CpuId)
}

/// Seconds since 1970, to a second.
pub fn began_s(root: &Root, at: &str) -> Known<i64> {
    let boot_s = root.text("proc/stat").and_then(|stat| {
        let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
        let seconds: Option<i64> = line.and_then(|seconds| seconds.trim().parse().ok());
        Known::found(seconds, Code::NotTold, || "/proc/stat does not tell when the host began")
    });
    let since_boot_s = field::<u64>(root, at, 22).map(|ticks| ms_of_ticks(ticks) / 1000);
    boot_s
        .and_then(|boot_s| since_boot_s.map(|since_s| boot_s.saturating_add(since_s.cast_signed())))
}

/// Cut at 15 letters.
pub fn name(root: &Root, at: &str) -> Known<String> {
    root.text(&format!("{at}/comm"))
}

/// As the process sees it: another number in a pid namespace, as in containers.
pub fn own_number(root: &Root, pid: u32) -> u32 {
    let numbers = told(root, &of_process(pid), "NSpid").ok();
    let innermost = numbers.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok());
    // Kernels before 4.1 lack it.
    innermost.unwrap_or(pid)
}

/// Without files: `[own, shared]` bytes.
pub fn resident(root: &Root, pid: u32) -> Known<[u64; 2]> {
    let bytes = |key: &str| {
        told(root, &of_process(pid), key).and_then(|text| {
            Known::found(bytes_of_kib(&text), Code::Malformed, || {
                format!("/proc/{pid}/status: {key} is odd")
            })
        })
    };
    bytes("RssAnon").and_then(|own| bytes("RssShmem").map(|shared| [own, shared]))
}

fn told(root: &Root, at: &str, key: &str) -> Known<String> {
    root.text(&format!("{at}/status")).and_then(|status| {
        let value = text::field(&status, key).map(str::to_owned);
        Known::found(value, Code::NotTold, || format!("/{at}/status has no line '{key}:'"))
    })
}

/// Numbered as in proc(5).
fn field<T: FromStr>(root: &Root, at: &str, number: usize) -> Known<T> {
    root.text(&format!("{at}/stat")).and_then(|stat| {
        let value = Stat::parse(&stat).and_then(|stat| stat.field(number));
        Known::found(value, Code::NotTold, || format!("/{at}/stat has no field {number}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;

    fn root(files: &str) -> Root {
        Root::from_text(&format!("hopcost machine recording, version 1\n{files}")).unwrap()
    }

    /// From Linux 6.12, with 1,234 ticks in field 22 and CPU 17 in field 39.
    const STAT: &str = "4711 (od) d (name) S 1 4711 4711 0 -1 4194560 9 0 1 0 3 4 0 0 20 0 1 0 1234 \
                        226799616 7168 18446744073709551615 1 1 0 0 0 0 0 16781312 536952323 0 0 0 \
                        17 17 0 0 0 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn the_last_cpu_is_field_39_whatever_the_name() {
        let stat = STAT.replace("17 17 ", "17 5 ");
        let root = root(&format!("> proc/4711/stat\n{stat}\n> proc/9/stat\n9 (short) S 1\n"));
        assert_eq!(last_cpu(&root, "proc/4711"), Known::Is(CpuId(5)));
        let reason = last_cpu(&root, "proc/9").to_string();
        assert_eq!(reason, "missing, because /proc/9/stat has no field 39");
    }

    #[test]
    fn a_process_began_so_long_after_its_host() {
        let root = root(&format!("> proc/stat\nbtime 1700000000\n> proc/4711/stat\n{STAT}\n"));
        assert_eq!(began_s(&root, "proc/4711"), Known::Is(1_700_000_012));
    }

    #[test]
    fn status_tells_cpus_number_and_memory() {
        let root = root(
            "> proc/7/status\nNSpid:\t7\t1\nRssAnon:\t  12 kB\nRssShmem:\t 8 kB\n\
             Cpus_allowed_list:\t0-3,8\n> proc/8/status\nUid:\t0\n> proc/7/task/9/comm\nworker-1\n",
        );
        assert_eq!(cpus(&root, "proc/7").ok().unwrap().to_string(), "0-3,8");
        assert_eq!((own_number(&root, 7), own_number(&root, 8)), (1, 8));
        assert_eq!(resident(&root, 7), Known::Is([12 << 10, 8 << 10]));
        let reason = cpus(&root, "proc/8").to_string();
        assert!(reason.ends_with("/proc/8/status has no line 'Cpus_allowed_list:'"), "{reason}");
        assert_eq!(name(&root, &of_thread(7, 9)), Known::Is("worker-1".into()));
    }

    #[test]
    fn we_stand_where_the_kernel_says_otherwise_too() {
        let (root, at) = (Root::live(), of_process(std::process::id()));
        let us = of_thread(std::process::id(), affinity::thread_id());
        let mask = cpus(&root, &us).ok().unwrap();
        assert!(affinity::mask().unwrap().is_subset(&mask));
        assert!(mask.contains(last_cpu(&root, &us).ok().unwrap()));
        let age_s = crate::clock::unix_seconds().cast_signed() - began_s(&root, &at).ok().unwrap();
        assert!((-2..3600).contains(&age_s), "{age_s}");
    }
}
