//! The checks of `hopcost doctor`: one file each, registered in [`CHECKS`].

mod balancing;
mod check;
mod clocksource;
mod cpuset;
mod databases;
mod governor;
mod huge_pages;
mod hypervisor;
mod load;
mod memory_balance;
mod nodes;
mod perf;
mod placement;
mod privileges;
mod processes;
mod quota;
mod steal;
mod swap;
mod transparent_pages;
mod turbo;
mod ulimits;
mod zone_reclaim;

use hopcost_core::Finding;

pub use check::{Check, Surroundings};

pub const CHECKS: &[Check] = &[
    load::CHECK,
    processes::CHECK,
    databases::CHECK,
    steal::CHECK,
    hypervisor::CHECK,
    quota::CHECK,
    cpuset::CHECK,
    governor::CHECK,
    turbo::CHECK,
    clocksource::CHECK,
    placement::CHECK,
    balancing::CHECK,
    zone_reclaim::CHECK,
    transparent_pages::CHECK,
    huge_pages::CHECK,
    nodes::CHECK,
    memory_balance::CHECK,
    swap::CHECK,
    perf::CHECK,
    ulimits::CHECK,
    privileges::CHECK,
];

pub fn examine_all(surroundings: &Surroundings<'_>) -> Vec<Finding> {
    CHECKS.iter().map(|check| check.examine(surroundings)).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use hopcost_core::{Code, CpuId, Known, Severity};
    use hopcost_sys::activity::{Activity, Process};
    use hopcost_sys::{Root, topology};

    use super::*;

    pub fn tree(more: &str) -> Root {
        let mut text = String::from("hopcost machine recording, version 1\n");
        let mut file = |path: &str, content: &str| {
            let _ = writeln!(text, "> {path}\n{content}");
        };
        file("sys/devices/system/cpu/online", "0-3");
        for cpu in 0..4 {
            let dir = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            file(&format!("{dir}/physical_package_id"), &(cpu / 2).to_string());
            file(&format!("{dir}/core_id"), &(cpu % 2).to_string());
            file(&format!("{dir}/thread_siblings_list"), &cpu.to_string());
        }
        for node in 0..2 {
            let dir = format!("sys/devices/system/node/node{node}");
            file(&format!("{dir}/cpulist"), &format!("{}-{}", 2 * node, 2 * node + 1));
            file(&format!("{dir}/distance"), if node == 0 { "10 21" } else { "21 10" });
        }
        text.push_str(more);
        Root::from_text(&text).unwrap()
    }

    fn say(check: &Check, more: &str, activity: Known<Activity>) -> Finding {
        let root = tree(more);
        let machine = topology::read(&root);
        check.examine(&Surroundings { root: &root, machine: &machine, activity })
    }

    fn quiet() -> Known<Activity> {
        Known::missing(Code::NotMeasured, "a recording")
    }

    fn meminfo(node: u32, total_kib: u64) -> String {
        format!(
            "> sys/devices/system/node/node{node}/meminfo\nNode {node} MemTotal: {total_kib} kB\n\
             Node {node} MemFree: {total_kib} kB\n"
        )
    }

    #[test]
    fn each_has_a_name_and_a_reason_of_its_own() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
        assert!(CHECKS.iter().all(|check| check.why.len() > 20));
    }

    #[test]
    fn a_recording_that_lacks_everything_is_no_alarm() {
        let root = tree("");
        let machine = topology::read(&root);
        let surroundings = Surroundings { root: &root, machine: &machine, activity: quiet() };
        for finding in examine_all(&surroundings) {
            assert_ne!(finding.severity, Severity::Warning, "{finding:?}");
        }
    }

    /// Each case: the check, the file that should alarm it, a word of its finding, one of its
    /// remedy.
    #[test]
    fn each_spoiler_is_seen_and_its_remedy_named() {
        let cases: &[(&Check, &str, &str, &str)] = &[
            (
                &governor::CHECK,
                "> sys/devices/system/cpu/cpu1/cpufreq/scaling_governor\npowersave\n",
                "powersave on CPU 1",
                "cpupower",
            ),
            (
                &clocksource::CHECK,
                "> sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n",
                "hpet",
                "clocksource=tsc",
            ),
            (
                &balancing::CHECK,
                "> proc/sys/kernel/numa_balancing\n1\n",
                "on",
                "kernel.numa_balancing=0",
            ),
            (
                &zone_reclaim::CHECK,
                "> proc/sys/vm/zone_reclaim_mode\n1\n",
                "1",
                "vm.zone_reclaim_mode=0",
            ),
            (
                &transparent_pages::CHECK,
                "> sys/kernel/mm/transparent_hugepage/enabled\nalways madvise [never]\n",
                "never",
                "echo madvise",
            ),
            (
                &swap::CHECK,
                "> proc/meminfo\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n",
                "1 MiB",
                "swapoff",
            ),
            (
                &quota::CHECK,
                "> proc/mounts\ncg /sys/fs/cgroup cgroup2 rw 0 0\n> proc/self/cgroup\n0::/a\n> sys/fs/cgroup/a/cpu.max\n150000 100000\n",
                "1.5 CPUs",
                "cpu.max",
            ),
            (
                &ulimits::CHECK,
                "> proc/self/limits\nMax locked memory 65536 65536 bytes\nMax open files 256 4096 files\n",
                "256",
                "ulimit -n",
            ),
        ];
        for (check, file, seen, remedy) in cases {
            let finding = say(check, file, quiet());
            assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
            assert!(finding.seen.contains(seen), "{finding:?}");
            assert!(finding.remedy.as_ref().unwrap().contains(remedy), "{finding:?}");
        }
    }

    #[test]
    fn uneven_memory_is_a_suspect_module() {
        let even = format!("{}{}", meminfo(0, 1 << 20), meminfo(1, 1 << 20));
        assert_eq!(say(&memory_balance::CHECK, &even, quiet()).severity, Severity::Good);
        let uneven = format!("{}{}", meminfo(0, 1 << 20), meminfo(1, 3 << 18));
        let finding = say(&memory_balance::CHECK, &uneven, quiet());
        assert!(
            finding.severity == Severity::Warning && finding.seen.contains("node 1"),
            "{finding:?}"
        );
    }

    #[test]
    fn nodes_that_nothing_can_be_placed_by_are_named() {
        assert_eq!(say(&nodes::CHECK, "", quiet()).severity, Severity::Good);
        let claimed = "> sys/devices/system/node/node2/cpulist\n0-3\n";
        let finding = say(&nodes::CHECK, claimed, quiet());
        assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
        assert!(
            finding.seen.contains("nodes 0-2") && finding.seen.contains("CPU 0-3"),
            "{finding:?}"
        );
        let gpu = "> proc/driver/nvidia/gpus/0009:01:00.0/numa_status\nNode: 1\n";
        let finding = say(&nodes::CHECK, gpu, quiet());
        assert_eq!(finding.severity, Severity::Note, "{finding:?}");
        assert!(finding.seen.contains("memory of node 1 is a GPU's"), "{finding:?}");
    }

    #[test]
    fn work_and_steal_come_from_what_was_watched() {
        let activity = |busy: f64, stolen: f64| {
            Known::Is(Activity {
                over: Duration::from_millis(500),
                busy: [(CpuId(0), busy), (CpuId(1), 0.0)].into(),
                stolen,
                processes: vec![Process { pid: 7, name: "mysqld".into(), cpus: busy }],
            })
        };
        for (check, word) in [
            (&load::CHECK, "CPU 0"),
            (&processes::CHECK, "mysqld (pid 7)"),
            (&steal::CHECK, "5.0 %"),
        ] {
            let finding = say(check, "", activity(0.8, 0.05));
            assert!(
                finding.severity == Severity::Warning && finding.seen.contains(word),
                "{finding:?}"
            );
            assert_eq!(say(check, "", activity(0.0, 0.0)).severity, Severity::Good);
        }
    }
}
