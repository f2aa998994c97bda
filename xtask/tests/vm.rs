//! What must hold on machines with many memory nodes, tried on emulated ones.
//!
//! One machine at a time: probes keep all CPUs of a small host busy.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use xtask::test::build_saboteur;
use xtask::vm::{self, Kernel, Load, Outcome, Topology, Turn, Vm};

/// A machine with hopcost and its peers aboard, and the turn to boot it.
fn guest(shape: &str, kernel: Kernel) -> (Vm, Turn) {
    vm::guest(shape, kernel, Load::All).unwrap()
}

fn json(outcome: &Outcome, name: &str) -> Value {
    serde_json::from_str(&outcome.read(name).unwrap())
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", outcome.console))
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

fn by_id(list: &Value) -> BTreeMap<u64, &Value> {
    list.as_array().unwrap().iter().map(|item| (item["id"].as_u64().unwrap(), item)).collect()
}

/// What is found on a machine, and what its probes prove, in one guest: a boot takes longer than either.
mod machines {
    use super::*;

    /// Those that a survey draws on.
    const USUAL: &[&str] = &["latency", "bandwidth", "cores", "switch", "log"];
    const WITH_SIBLINGS: &[&str] = &["latency", "bandwidth", "cores", "switch", "log", "smt"];
    /// All that place memory or threads; on one machine, for the time that emulation takes.
    const ALL: &[&str] =
        &["latency", "bandwidth", "cores", "switch", "log", "decommit", "pages", "smt", "loaded"];
    /// Those that reach memory-only nodes, and all of many.
    const REACHING: &[&str] = &["latency", "bandwidth"];

    fn check(shape: &str, kernel: Kernel, names: &[&str]) {
        let (vm, _turn) = guest(shape, kernel);
        let outcome = vm.run(&format!("{}{}", shapes::LOOK, probes::script(names))).unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        shapes::agrees(&outcome, shape);
        for name in names {
            probes::proves(&outcome, name, shape);
        }
    }

    macro_rules! machines {
        ($($name:ident: $shape:ident, $kernel:ident, $probes:expr;)*) => {$(
            #[test]
            fn $name() {
                check(stringify!($shape), Kernel::$kernel, $probes);
            }
        )*};
    }

    // Under this emulation the newer kernel dies the more often the more CPUs there are, and so do programs
    // that it has just started: it gets the small machines.
    machines! {
        n1: n1, V6_1, USUAL;
        n2: n2, V6_1, ALL;
        n4: n4, V6_1, USUAL;
        n8: n8, V6_1, REACHING;
        n4s2: n4s2, V6_1, WITH_SIBLINGS;
        n2cxl: n2cxl, V6_1, REACHING;
        n4cxl: n4cxl, V6_1, &[];
        n2_newer: n2, V6_12, &[];
        n2cxl_newer: n2cxl, V6_12, REACHING;
    }
}

mod shapes {
    use super::*;

    pub const LOOK: &str = "
        hopcost machine --json > /out/machine.json || exit 11
        numactl -H > /out/numactl.txt || exit 12
        lstopo --of xml - > /out/lstopo.xml || exit 13
        cd /sys/devices/system
        grep -H '' cpu/online cpu/cpu*/topology/*_id cpu/cpu*/topology/thread_siblings_list \
            node/node*/cpulist node/node*/distance > /out/kernel.txt || exit 14
    ";

    pub fn agrees(outcome: &Outcome, shape: &str) {
        let machine = json(outcome, "machine.json");
        agrees_with_kernel(&machine, &outcome.read("kernel.txt").unwrap());
        agrees_with_numactl(&machine, &outcome.read("numactl.txt").unwrap());
        agrees_with_hwloc(&machine, &outcome.read("lstopo.xml").unwrap());
        agrees_with_what_was_emulated(&machine, shape.parse().unwrap());
    }

    /// `0-2,4` as numbers.
    fn list(text: &str) -> Vec<u64> {
        let range = |part: &str| -> Vec<u64> {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            (low.parse().unwrap()..=high.parse().unwrap()).collect()
        };
        text.split(',').filter(|part| !part.is_empty()).flat_map(range).collect()
    }

    fn agrees_with_kernel(machine: &Value, kernel: &str) {
        let file = |path: String| {
            let line = kernel.lines().find_map(|line| line.strip_prefix(&format!("{path}:")));
            line.unwrap_or_else(|| panic!("the kernel has no {path}")).trim().to_owned()
        };
        let cpus = by_id(&machine["cpus"]);
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), list(&file("cpu/online".into())));
        for (id, cpu) in cpus {
            let topology = |name: &str| file(format!("cpu/cpu{id}/topology/{name}"));
            assert_eq!(cpu["socket"].to_string(), topology("physical_package_id"));
            assert_eq!(cpu["core"].to_string(), topology("core_id"));
            assert_eq!(cpu["die"].to_string(), topology("die_id"));
            assert_eq!(numbers(&cpu["siblings"]), list(&topology("thread_siblings_list")));
        }
        for (id, node) in by_id(&machine["nodes"]) {
            assert_eq!(numbers(&node["cpus"]), list(&file(format!("node/node{id}/cpulist"))));
            let row = &machine["distances"]["firmware"][id as usize];
            let words: Vec<String> = numbers(row).iter().map(u64::to_string).collect();
            assert_eq!(words.join(" "), file(format!("node/node{id}/distance")));
        }
    }

    fn agrees_with_numactl(machine: &Value, numactl: &str) {
        for (id, node) in by_id(&machine["nodes"]) {
            let line = |what: &str| {
                let prefix = format!("node {id} {what}:");
                let line = numactl.lines().find_map(|line| line.strip_prefix(&prefix));
                line.unwrap_or_else(|| panic!("numactl has no '{prefix}'")).trim().to_owned()
            };
            let cpus: Vec<u64> =
                line("cpus").split_whitespace().map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers(&node["cpus"]), cpus);
            let mib = node["total_bytes"].as_u64().unwrap() >> 20;
            assert_eq!(format!("{mib} MB"), line("size"));
            let matrix =
                numactl.lines().find_map(|row| row.trim().strip_prefix(&format!("{id}: ")));
            let row: Vec<u64> =
                matrix.unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers(&machine["distances"]["firmware"][id as usize]), row);
        }
    }

    /// Sockets, cores and caches as sets of CPUs, and nodes with their memory, from hwloc's XML.
    fn agrees_with_hwloc(machine: &Value, xml: &str) {
        let attribute = |line: &str, name: &str| -> Option<String> {
            let (_, rest) = line.split_once(&format!(" {name}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        // hwloc writes sets as comma-separated 32-bit words, highest first.
        let cpus = |line: &str| -> Vec<u64> {
            let mask = attribute(line, "cpuset").unwrap_or_default().replace("0x", "");
            let words: Vec<u64> =
                mask.split(',').map(|w| u64::from_str_radix(w, 16).unwrap_or(0)).collect();
            let bit = |n: u64| words[words.len() - 1 - n as usize / 32] >> (n % 32) & 1 == 1;
            (0..words.len() as u64 * 32).filter(|&n| bit(n)).collect()
        };
        let of_type = |kind: &str| -> Vec<&str> {
            let lines = xml.lines();
            lines
                .filter(|line| line.trim_start().starts_with("<object "))
                .filter(|line| attribute(line, "type").as_deref() == Some(kind))
                .collect()
        };
        let sets =
            |kind: &str| -> BTreeSet<Vec<u64>> { of_type(kind).into_iter().map(cpus).collect() };
        let ours = |list: &Value, key: &str| -> BTreeSet<Vec<u64>> {
            list.as_array().unwrap().iter().map(|item| numbers(&item[key])).collect()
        };
        assert_eq!(ours(&machine["sockets"], "cpus"), sets("Package"));
        assert_eq!(ours(&machine["cpus"], "siblings"), sets("Core"));
        for (kind, level, holds) in [
            ("L1Cache", 1, "data"),
            ("L1iCache", 1, "instruction"),
            ("L2Cache", 2, "unified"),
            ("L3Cache", 3, "unified"),
        ] {
            let caches = machine["caches"].as_array().unwrap().iter();
            let caches = caches.filter(|c| c["level"] == level && c["kind"] == holds);
            let ours: BTreeSet<(Vec<u64>, u64)> =
                caches.map(|c| (numbers(&c["cpus"]), c["bytes"].as_u64().unwrap())).collect();
            let size = |line: &str| attribute(line, "cache_size").unwrap().parse().unwrap();
            let theirs = of_type(kind).into_iter().map(|line| (cpus(line), size(line))).collect();
            assert_eq!(ours, theirs, "{kind}");
        }
        let memory: BTreeMap<u64, u64> = of_type("NUMANode")
            .into_iter()
            .map(|line| {
                let number = |name| attribute(line, name).unwrap().parse().unwrap();
                (number("os_index"), number("local_memory"))
            })
            .collect();
        let ours: BTreeMap<u64, u64> = by_id(&machine["nodes"])
            .into_iter()
            .map(|(id, node)| (id, node["total_bytes"].as_u64().unwrap()))
            .collect();
        assert_eq!(ours, memory);
    }

    /// What QEMU was told: the firmware's tables come back through ACPI, kernel and hopcost.
    fn agrees_with_what_was_emulated(machine: &Value, shape: Topology) {
        assert_eq!(machine["virtualization"]["hypervisor"], "QEMU (emulated)");
        assert_eq!(machine["sockets"].as_array().unwrap().len() as u32, shape.sockets);
        assert_eq!(machine["cpus"].as_array().unwrap().len() as u32, shape.cpus());
        let all = shape.all_nodes();
        for (a, b) in (0..all).flat_map(|a| (0..all).map(move |b| (a, b))) {
            let rated = &machine["distances"]["firmware"][a as usize][b as usize];
            assert_eq!(rated.as_u64(), Some(u64::from(shape.distance(a, b))));
        }
        let tables = machine["distances"]["hmat"].as_array().unwrap();
        let table = |of: &str| tables.iter().find(|t| t["of"] == of).unwrap();
        for (a, b) in (0..shape.nodes).flat_map(|a| (0..all).map(move |b| (a, b))) {
            let (ns, gb) = shape.rating(a, b);
            let value = |of: &str| table(of)["values"][a as usize][b as usize].as_u64().unwrap();
            assert_eq!(value("access_latency_ns"), u64::from(ns));
            assert_eq!(value("access_mb_per_s") / 1024, u64::from(gb));
        }
        if shape.memory_only {
            let node = &machine["nodes"][shape.nodes as usize];
            assert_eq!(numbers(&node["cpus"]), [0u64; 0]);
            assert_eq!(node["access0"]["read_latency_ns"], 250);
        }
        let rungs = machine["distances"]["ladder"].as_array().unwrap();
        let present: Vec<&str> = rungs
            .iter()
            .filter(|rung| rung["example"].get("missing").is_none())
            .map(|rung| rung["class"].as_str().unwrap())
            .collect();
        let expected = [
            ("same-cpu", true),
            ("sibling", true),
            ("same-l3", false),
            ("same-node", false),
            ("same-socket", shape.nodes > shape.sockets),
            ("other-socket", shape.sockets > 1),
            // Pairs of nodes are rated nearer than the rest.
            ("far-socket", shape.sockets > 2),
            ("memory-only", shape.memory_only),
        ];
        let expected: Vec<&str> =
            expected.into_iter().filter(|(_, here)| *here).map(|(class, _)| class).collect();
        assert_eq!(present, expected);
    }
}

mod probes {
    use super::*;

    fn cells(report: &Value) -> Vec<&Value> {
        let probes = report["probes"].as_array().unwrap().iter();
        probes.flat_map(|probe| probe["cells"].as_array().unwrap()).collect()
    }

    pub fn script(names: &[&str]) -> String {
        let line = |name: &&str| {
            format!(
                "hopcost probe {name} --quick --budget 1s --size 4M --json > /out/{name} || exit 1\n"
            )
        };
        names.iter().map(line).collect()
    }

    /// Each cell that places memory has the proof, before and after, that at least 99 % of its pages were
    /// where they were asked for. A memory-only node is a column that every row reaches, and no row.
    pub fn proves(outcome: &Outcome, name: &str, shape: &str) {
        let report = json(outcome, name);
        let is_measured = |cell: &&Value| cell["outcome"].get("measured").is_some();
        let measured: Vec<&Value> = cells(&report).into_iter().filter(is_measured).collect();
        assert!(!measured.is_empty(), "{name} measured nothing");
        for cell in measured {
            proved(name, cell);
        }
        if shape == "n2cxl" {
            let at = |key: &str| {
                let node = |cell: &&Value| cell[key]["node"] == 2;
                cells(&report).into_iter().filter(node).collect::<Vec<_>>()
            };
            let (rows, columns) = (at("row"), at("column"));
            assert!(columns.len() >= 2 && rows.is_empty());
            assert!(columns.iter().all(|cell| cell["class"] == "memory-only"));
        }
    }

    fn proved(name: &str, cell: &Value) {
        for proof in cell["proof"].as_array().unwrap() {
            let Some(localities) = proof["memory"].as_array() else {
                let without = ["switch", "decommit"].contains(&name);
                assert!(without, "{name} places memory, and has to prove where");
                continue;
            };
            assert!(!localities.is_empty());
            for locality in localities {
                let asked = locality["asked"].to_string();
                let pages = locality["pages_by_node"].as_object().unwrap();
                let all: u64 = pages.values().map(|n| n.as_u64().unwrap()).sum();
                let there = pages.get(&asked).map_or(0, |n| n.as_u64().unwrap());
                assert!(there as f64 >= 0.99 * all as f64 && there > 0, "{name}: {locality}");
                assert_eq!(
                    (&locality["method"], &locality["bound"]),
                    (&"move_pages".into(), &true.into())
                );
                assert_eq!(locality["pages_unknown"], 0);
            }
        }
    }

    /// Pages that were moved behind the probe's back are read as moved, and void what was measured.
    #[test]
    fn notice_pages_moved_behind_their_back() {
        let thief = build_saboteur("page_thief").unwrap();
        let (vm, _turn) = guest("n2", Kernel::V6_1);
        let vm = vm.with(&thief, "/usr/local/bin/page_thief");
        let script: String = [0, 5, 50, 100]
            .iter()
            .map(|percent| {
                format!(
                    "hopcost probe latency --quick --size 8M --pages 4k --nodes 0 --json > /out/{percent} &\n\
                     page_thief $! {percent} 1 16777216 || exit 1\n\
                     wait $!; echo $? > /out/code{percent}\n"
                )
            })
            .collect();
        let outcome = vm.run(&script).unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        for percent in [0, 5, 50, 100] {
            let report = json(&outcome, &percent.to_string());
            let cell = cells(&report)[0];
            let pages = &cell["proof"][1]["memory"][0]["pages_by_node"];
            let count = |node: &str| pages[node].as_u64().unwrap_or(0) as f64;
            let read = 100.0 * count("1") / (count("0") + count("1"));
            assert!((read - f64::from(percent)).abs() <= 0.5, "{percent} % read as {read} %");
            let void = cell["outcome"].get("void").is_some();
            assert_eq!(void, percent > 0, "{percent} %: {}", cell["outcome"]);
            let code = outcome.read(&format!("code{percent}")).unwrap();
            assert_eq!(
                code.trim(),
                if void { "1" } else { "0" },
                "a void figure is a failed check"
            );
        }
    }

    /// Under a filter as containers have it: first touch, proved by mapping, and both are said.
    #[test]
    fn fall_back_where_binding_is_forbidden() {
        let forbid = build_saboteur("forbid_placement").unwrap();
        let (vm, _turn) = guest("n2cxl", Kernel::V6_1);
        let vm = vm.with(&forbid, "/usr/local/bin/forbid");
        let outcome = vm
            .run(
                "forbid hopcost probe latency --quick --budget 1s --size 4M --json > /out/json || exit 1
                 forbid hopcost probe latency --quick --budget 1s --size 4M > /out/text || exit 2
                 forbid hopcost doctor > /out/doctor",
            )
            .unwrap();
        assert_eq!(outcome.exit, 1, "the doctor warns\n{}", outcome.console);
        let report = json(&outcome, "json");
        for cell in cells(&report) {
            if cell["column"]["node"] == 2 {
                let reason = cell["outcome"]["missing"].as_str().unwrap();
                assert!(reason.contains("no usable CPU to touch it first"), "{reason}");
                continue;
            }
            let locality = &cell["proof"][1]["memory"][0];
            assert_eq!(
                (&locality["method"], &locality["bound"]),
                (&"numa_maps".into(), &false.into())
            );
            assert!(cell["outcome"].get("measured").is_some(), "{}", cell["outcome"]);
        }
        let text = outcome.read("text").unwrap();
        assert!(text.contains("placed by first touch, binding is forbidden here"), "{text}");
        assert!(outcome.read("doctor").unwrap().contains("mbind and move_pages forbidden here"));
    }
}

mod limits {
    use super::*;

    /// Inside a cpuset with one of four nodes only that node appears.
    #[test]
    fn a_cpuset_hides_the_other_nodes() {
        let (vm, _turn) = guest("n4", Kernel::V6_1);
        let outcome = vm
            .run(
                "cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir box || exit 1
                 echo 4-5 > box/cpuset.cpus && echo 2 > box/cpuset.mems || exit 2
                 echo $$ > box/cgroup.procs || exit 3
                 hopcost machine --json > /out/machine || exit 4
                 hopcost machine > /out/text || exit 5
                 hopcost probe latency --quick --budget 1s --size 4M --json > /out/latency || exit 6
                 hopcost probe latency --quick --size 4M --nodes 0; echo $? > /out/code",
            )
            .unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        let machine = json(&outcome, "machine");
        assert_eq!(numbers(&machine["limits"]["cpus"]), [4, 5]);
        assert_eq!(numbers(&machine["limits"]["nodes"]), [2]);
        let usable =
            by_id(&machine["nodes"]).into_iter().filter(|(_, node)| node["usable"] == true);
        assert_eq!(usable.map(|(id, _)| id).collect::<Vec<_>>(), [2]);
        let report = json(&outcome, "latency");
        for cell in report["probes"][0]["cells"].as_array().unwrap() {
            assert_eq!(cell["row"]["node"], 2);
            assert!(cell["outcome"].get("measured").is_some());
        }
        let text = outcome.read("text").unwrap();
        assert!(text.contains("CPUs 4-5 usable · memory of node 2 usable"), "{text}");
        assert_eq!(outcome.read("code").unwrap().trim(), "3", "a node that is closed to us");
    }

    #[test]
    fn an_offline_cpu_is_shown_and_left_out() {
        let (vm, _turn) = guest("n2", Kernel::V6_1);
        let outcome = vm
            .run(
                "echo 0 > /sys/devices/system/cpu/cpu3/online || exit 1
                 hopcost machine --json > /out/machine || exit 2
                 hopcost machine > /out/text || exit 3
                 hopcost probe cores --quick --budget 1s --json > /out/cores || exit 4
                 hopcost probe cores --quick --cpus 3; echo $? > /out/code",
            )
            .unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        let machine = json(&outcome, "machine");
        let cpu = &machine["cpus"][3];
        assert_eq!((&cpu["online"], &cpu["usable"]), (&false.into(), &false.into()));
        assert_eq!(cpu["socket"]["missing"], "the CPU is off-line");
        let text = outcome.read("text").unwrap();
        assert!(text.contains("CPU 3 off-line"), "{text}");
        for cell in json(&outcome, "cores")["probes"][0]["cells"].as_array().unwrap() {
            assert!(!numbers(&cell["cpus"]).contains(&3));
        }
        assert_eq!(outcome.read("code").unwrap().trim(), "2", "a CPU that cannot be used");
    }

    #[test]
    fn without_memory_left_the_column_is_missing_and_the_code_says_so() {
        let (vm, _turn) = guest("n2", Kernel::V6_1);
        let outcome = vm
            .run("hopcost probe latency --quick --size 4G > /out/text; echo $? > /out/code")
            .unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        let text = outcome.read("text").unwrap();
        assert!(text.contains("8192 MiB are wanted") && text.contains("--size"), "{text}");
        assert_eq!(outcome.read("code").unwrap().trim(), "3");
    }

    #[test]
    fn an_ordinary_user_is_served_and_told_what_is_closed() {
        let (vm, _turn) = guest("n2", Kernel::V6_1);
        let outcome = vm
            .run(
                "mkdir -m 1777 /elsewhere && cp /usr/local/bin/hopcost /elsewhere/alone && cd /elsewhere || exit 1
                 su nobody -s /bin/sh -c '/elsewhere/alone machine --json' > /out/machine || exit 2
                 su nobody -s /bin/sh -c '/elsewhere/alone probe latency --quick --budget 1s --size 4M' > /out/probe || exit 3
                 su nobody -s /bin/sh -c '/elsewhere/alone doctor' > /out/doctor",
            )
            .unwrap();
        let machine = json(&outcome, "machine");
        let closed = machine["distances"]["hmat"]["missing"].as_str().unwrap();
        assert!(closed.ends_with("may not be read by this user"), "{closed}");
        assert!(
            outcome.read("probe").unwrap().contains("pages proved 100 % in place (move_pages)")
        );
        let doctor = outcome.read("doctor").unwrap();
        assert!(doctor.contains("an ordinary user; closed to it"), "{doctor}");
    }
}

mod settings {
    use super::*;

    /// A pool of huge pages that hopcost may grow: put back at the end, after Ctrl-C, and by
    /// `hopcost restore` after a kill.
    #[test]
    fn are_put_back_on_every_way_out() {
        let (vm, _turn) = guest("n2", Kernel::V6_1);
        let outcome = vm
            .mib_per_node(512)
            .run(
                "pool=/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
                 echo 3 > $pool
                 wants='probe latency --quick --size 16M --pages 2m --nodes 1 --allow-machine-changes'
                 grown() { for i in $(seq 100); do [ $(cat $pool) -gt 3 ] && return 0; sleep 0.1; done; return 1; }
                 hopcost $wants --json > /out/whole || exit 1
                 cat $pool > /out/after_whole
                 hopcost $wants > /out/stopped & grown || exit 2
                 sleep 1; kill -INT $!; wait $!; echo $? > /out/code; cat $pool > /out/after_stopped
                 hopcost $wants > /dev/null & grown || exit 3
                 sleep 1; kill -9 $!; wait $!; cat $pool > /out/after_kill
                 hopcost restore > /out/restore || exit 4
                 cat $pool > /out/after_restore
                 hopcost restore > /out/again || exit 5
                 ls -A /var/lib/hopcost > /out/state",
            )
            .unwrap();
        assert_eq!(outcome.exit, 0, "{}", outcome.console);
        let read = |name: &str| outcome.read(name).unwrap().trim().to_owned();
        let report = json(&outcome, "whole");
        let locality = &report["probes"][0]["cells"][0]["proof"][0]["memory"][0];
        assert_eq!(locality["page_size"], "2M", "{locality}");
        assert_eq!((read("after_whole"), read("after_stopped")), ("3".into(), "3".into()));
        assert_eq!(read("code"), "130");
        assert!(read("stopped").contains("before its end"), "{}", read("stopped"));
        assert_ne!(read("after_kill"), "3", "a kill cannot put anything back");
        assert_eq!(read("after_restore"), "3");
        assert!(read("restore").contains("put back"), "{}", read("restore"));
        assert!(read("again").contains("Nothing to put back"));
        assert_eq!(read("state"), "");
    }
}
