//! hopcost's view of a machine, compared with the kernel, numactl, hwloc, and QEMU's options.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hopcost_sys::{Root, topology};
use serde_json::Value;
use xtask::vm::Topology;

use crate::proofs::{by_id, numbers};
use crate::steps::Step;

pub const LOOK: &str = "
    hopcost machine --json > machine.json || exit 11
    hopcost machine --record machine.tree || exit 15
    numactl -H > numactl.txt || exit 12
    lstopo --of xml - > lstopo.xml || exit 13
    out=$PWD && cd /sys/devices/system
    grep -H '' cpu/online cpu/cpu*/topology/*_id cpu/cpu*/topology/thread_siblings_list \
        node/node*/cpulist node/node*/distance > $out/kernel.txt || exit 14
";

pub fn agrees(step: Step<'_>, shape: &str) {
    agrees_with_all(&step.is_done().json("machine.json"), shape, |file| step.read(file).to_owned());
}

fn agrees_with_all(machine: &Value, shape: &str, read: impl Fn(&str) -> String) {
    agrees_with_kernel(machine, &read("kernel.txt"));
    agrees_with_numactl(machine, &read("numactl.txt"));
    agrees_with_hwloc(machine, &read("lstopo.xml"));
    agrees_with_what_was_emulated(machine, shape.parse().unwrap());
}

/// The same without a guest, on recordings of each shape: the output of [`LOOK`], kept by
/// `guest_shapes` if `HOPCOST_KEEP_RECORDINGS` names a directory, and the machine.
#[test]
fn recorded_machines_are_what_the_kernel_and_its_peers_said() {
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/recorded");
    let mut shapes = 0;
    for entry in std::fs::read_dir(all).unwrap() {
        let dir = entry.unwrap().path();
        let name = dir.file_name().unwrap().to_str().unwrap();
        let root = Root::recorded(&dir.join("machine.tree")).unwrap();
        let machine = serde_json::to_value(topology::read(&root)).unwrap();
        let shape = name.split('-').next().unwrap();
        agrees_with_all(&machine, shape, |file| std::fs::read_to_string(dir.join(file)).unwrap());
        shapes += 1;
    }
    assert!(shapes >= 9, "{shapes} recordings");
}

fn list(text: &str) -> Vec<u64> {
    let range = |part: &str| -> Vec<u64> {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        (low.parse().unwrap()..=high.parse().unwrap()).collect()
    };
    text.split(',').filter(|part| !part.is_empty()).flat_map(range).collect()
}

pub fn keep(step: Step<'_>, dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    for file in ["machine.tree", "kernel.txt", "numactl.txt", "lstopo.xml"] {
        std::fs::write(dir.join(file), step.read(file)).unwrap();
    }
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
        let cpus: Vec<u64> = line("cpus").split_whitespace().map(|n| n.parse().unwrap()).collect();
        assert_eq!(numbers(&node["cpus"]), cpus);
        let mib = node["total_bytes"].as_u64().unwrap() >> 20;
        assert_eq!(format!("{mib} MB"), line("size"));
        let matrix = numactl.lines().find_map(|row| row.trim().strip_prefix(&format!("{id}: ")));
        let row: Vec<u64> =
            matrix.unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
        assert_eq!(numbers(&machine["distances"]["firmware"][id as usize]), row);
    }
}

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
    let sets = |kind: &str| -> BTreeSet<Vec<u64>> { of_type(kind).into_iter().map(cpus).collect() };
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

/// The emulated firmware's tables, read through ACPI, kernel and hopcost.
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
