//! The checks of `hopcost doctor`: one file each, registered in [`CHECKS`].

mod address_layout;
mod balancing;
mod check;
mod clocksource;
mod cpuset;
mod databases;
mod governor;
mod huge_pages;
mod hypervisor;
mod idle;
mod load;
mod memory_balance;
mod nodes;
mod perf;
mod placement;
mod policy;
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
    idle::CHECK,
    clocksource::CHECK,
    placement::CHECK,
    policy::CHECK,
    balancing::CHECK,
    zone_reclaim::CHECK,
    address_layout::CHECK,
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

    pub fn say(check: &Check, more: &str, activity: Known<Activity>) -> Finding {
        let root = tree(more);
        let machine = topology::read(&root);
        check.examine(&Surroundings { root: &root, machine: &machine, activity })
    }

    pub fn quiet() -> Known<Activity> {
        Known::missing(Code::NotMeasured, "a recording")
    }

    pub fn meminfo(node: u32, total_kib: u64) -> String {
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

    /// Each case: the check, the file that should alarm it, a word of its finding, its remedy, and
    /// its undo.
    const SPOILERS: &[(&Check, &str, &str, &str, &str)] = &[
        (
            &governor::CHECK,
            "> sys/devices/system/cpu/cpu1/cpufreq/scaling_governor\npowersave\n\
             > sys/devices/system/cpu/cpu2/cpufreq/scaling_governor\nschedutil\n",
            "powersave on CPU 1",
            "cpupower frequency-set -g performance",
            "cpupower -c 1 frequency-set -g powersave; cpupower -c 2 frequency-set -g schedutil",
        ),
        (
            &clocksource::CHECK,
            "> sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n",
            "hpet",
            "boot with clocksource=tsc tsc=reliable, if the processor's counter is sound",
            "remove both from the kernel command line and boot again",
        ),
        (
            &clocksource::CHECK,
            "> sys/devices/system/clocksource/clocksource0/current_clocksource\nacpi_pm\n\
             > sys/devices/system/clocksource/clocksource0/available_clocksource\nhpet tsc acpi_pm\n",
            "acpi_pm",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "echo acpi_pm > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        (
            &balancing::CHECK,
            "> proc/sys/kernel/numa_balancing\n2\n",
            "on",
            "sysctl -w kernel.numa_balancing=0",
            "sysctl -w kernel.numa_balancing=2",
        ),
        (
            &zone_reclaim::CHECK,
            "> proc/sys/vm/zone_reclaim_mode\n5\n",
            "mode 5",
            "sysctl -w vm.zone_reclaim_mode=0",
            "sysctl -w vm.zone_reclaim_mode=5",
        ),
        (
            &address_layout::CHECK,
            "> proc/sys/kernel/randomize_va_space\n0\n",
            "not randomized",
            "sysctl -w kernel.randomize_va_space=2",
            "sysctl -w kernel.randomize_va_space=0",
        ),
        (
            &transparent_pages::CHECK,
            "> sys/kernel/mm/transparent_hugepage/enabled\nalways madvise [never]\n",
            "never",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        (
            &swap::CHECK,
            "> proc/meminfo\nMemAvailable: 4096 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n",
            "1 MiB in use, 4 MiB of memory available",
            "swapoff -a",
            "swapon -a",
        ),
        (
            &quota::CHECK,
            "> proc/mounts\ncg /sys/fs/cgroup cgroup2 rw 0 0\n> proc/self/cgroup\n0::/a\n> sys/fs/cgroup/a/cpu.max\n150000 100000\n",
            "1.5 CPUs",
            "echo max > /sys/fs/cgroup/a/cpu.max",
            "echo '150000 100000' > /sys/fs/cgroup/a/cpu.max",
        ),
        (
            &quota::CHECK,
            "> proc/mounts\ncg /sys/fs/cgroup cgroup2 rw 0 0\n> proc/self/cgroup\n0::/a/b\n> sys/fs/cgroup/a/cpu.max\n150000 100000\n",
            "1.5 CPUs",
            "remove the CPU limit of this container or unit",
            "set its limit of 1.5 CPUs again",
        ),
        (
            &ulimits::CHECK,
            "> proc/self/limits\nMax locked memory 65536 65536 bytes\nMax open files 256 4096 files\n",
            "256",
            "ulimit -Sn 1024",
            "ulimit -Sn 256",
        ),
    ];

    #[test]
    fn each_spoiler_is_seen_and_its_remedy_named() {
        for (check, file, seen, remedy, undo) in SPOILERS {
            let finding = say(check, file, quiet());
            assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
            assert!(finding.seen.contains(seen), "{finding:?}");
            assert_eq!(finding.remedy.as_deref(), Some(*remedy), "{finding:?}");
            assert_eq!(finding.undo.as_deref(), Some(*undo), "{finding:?}");
        }
    }

    #[test]
    fn uneven_huge_pages_are_evened_out_and_back() {
        let pool = |node: u32, pages: u32| {
            let dir = format!("sys/devices/system/node/node{node}/hugepages/hugepages-2048kB");
            format!("> {dir}/nr_hugepages\n{pages}\n> {dir}/free_hugepages\n{pages}\n")
        };
        let with = |of_1: u32| {
            let memory = format!("{}{}", meminfo(0, 1 << 20), meminfo(1, 1 << 20));
            say(&huge_pages::CHECK, &format!("{memory}{}{}", pool(0, 300), pool(1, of_1)), quiet())
        };
        assert_eq!(with(300).severity, Severity::Good);
        let finding = with(100);
        let file = |node: u32| {
            format!("/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
        };
        let set = |a: u32, b: u32| format!("echo {a} > {}; echo {b} > {}", file(0), file(1));
        assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
        assert_eq!((finding.remedy, finding.undo), (Some(set(200, 200)), Some(set(300, 100))));
    }

    #[test]
    fn every_remedy_has_an_undo_or_says_why_it_needs_none() {
        let busy = || {
            let processes = vec![Process { pid: 7, name: "mysqld".into(), cpus: 0.8 }];
            let busy = [(CpuId(0), 0.8)].into();
            Known::Is(Activity { over: Duration::from_millis(500), busy, stolen: 0.05, processes })
        };
        let mut findings = Vec::new();
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
        let mut roots: Vec<Root> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| Root::recorded(&entry.unwrap().path()).unwrap())
            .collect();
        roots.extend(SPOILERS.iter().map(|(_, files, ..)| tree(files)));
        roots.push(Root::live());
        for root in &roots {
            let machine = topology::read(root);
            let surroundings = Surroundings { root, machine: &machine, activity: busy() };
            findings.extend(examine_all(&surroundings));
        }
        let with_remedy = findings.iter().filter(|finding| finding.remedy.is_some());
        let mut fixed: Vec<&str> = with_remedy.map(|finding| finding.check).collect();
        fixed.sort_unstable();
        fixed.dedup();
        assert!(fixed.len() > 12, "{fixed:?}");
        for finding in &findings {
            let (remedy, undo) = (finding.remedy.as_deref(), finding.undo.as_deref());
            assert_eq!(remedy.is_some(), undo.is_some(), "{finding:?}");
            let Some((remedy, undo)) = remedy.zip(undo) else { continue };
            let because = undo.strip_prefix("nothing to undo: ").unwrap_or(undo);
            assert!(because.len() > 8 && because != remedy, "{finding:?}");
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
            (&steal::CHECK, "5.0%"),
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
