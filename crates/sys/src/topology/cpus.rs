//! CPUs and sockets, from `/sys/devices/system/cpu`.

use std::collections::BTreeMap;

use hopcost_core::{Code, Cpu, CpuId, CpuSet, Known, Socket};

use crate::root::Root;
use crate::text::field;

const CPUS: &str = "sys/devices/system/cpu";

pub fn online(root: &Root) -> CpuSet {
    let told = root.list_of(&format!("{CPUS}/online"));
    told.ok().unwrap_or_else(|| {
        // Kernels before 2.6.30 have no such list: on-line CPUs have a topology.
        let has_topology = |cpu: &CpuId| root.has_dir(&format!("{CPUS}/cpu{cpu}/topology"));
        present(root).into_iter().filter(has_topology).collect()
    })
}

pub fn processor(root: &Root) -> Known<String> {
    root.text("proc/cpuinfo").and_then(|text| {
        // x86 has "model name", old Arm "Processor", POWER "cpu".
        let name = ["model name", "Processor", "cpu"].iter().find_map(|key| field(&text, key));
        let name = name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
        Known::found(name, Code::NotTold, || "/proc/cpuinfo gives the processor no name")
    })
}

fn present(root: &Root) -> Vec<CpuId> {
    root.ids(CPUS, "cpu").ok().unwrap_or_default()
}

pub fn read(
    root: &Root,
    online: &CpuSet,
    usable: &CpuSet,
    notes: &mut Vec<String>,
) -> (Vec<Socket>, Vec<Cpu>) {
    let present = present(root);
    let kinds = kinds(root, &present.iter().copied().filter(|cpu| online.contains(*cpu)));
    let mut sockets = Sockets::default();
    let mut cpus = Vec::new();
    for &id in &present {
        let socket = if online.contains(id) { sockets.of(root, id) } else { off_line() };
        cpus.push(Cpu {
            id,
            online: online.contains(id),
            usable: usable.contains(id),
            socket,
            die: topology(root, online, id, "die_id"),
            cluster: topology(root, online, id, "cluster_id"),
            core: topology(root, online, id, "core_id"),
            siblings: siblings(root, id),
            node: Known::missing(Code::NotApplicable, "no node claims this CPU"),
            kind: Known::found(
                kinds.get(&id).cloned(),
                Code::NotTold,
                || "the kernel reports no kinds of core",
            ),
            max_mhz: root
                .number::<u32>(&format!("{CPUS}/cpu{id}/cpufreq/cpuinfo_max_freq"))
                .map(|khz| khz / 1000),
        });
    }
    if split_modules(&mut cpus) {
        notes.push("CPUs that the kernel calls siblings but numbers as cores of their own (AMD modules) are taken as cores".into());
    }
    if sockets.unnumbered {
        notes.push("the kernel gives no socket numbers; CPUs that it calls package siblings are taken as a socket".into());
    }
    (sockets.finish(), cpus)
}

fn off_line<T>() -> Known<T> {
    Known::missing(Code::OffLine, "the CPU is off-line")
}

fn topology(root: &Root, online: &CpuSet, id: CpuId, file: &str) -> Known<u32> {
    if !online.contains(id) {
        return off_line();
    }
    root.number::<i64>(&format!("{CPUS}/cpu{id}/topology/{file}")).and_then(|number| {
        match u32::try_from(number) {
            // Kernels write -1, or 65535 for a cluster, if there is none.
            Ok(number) if number != 0xffff => Known::Is(number),
            _ => Known::missing(
                Code::NotTold,
                format!("the kernel numbers no {}", file.trim_end_matches("_id")),
            ),
        }
    })
}

fn siblings(root: &Root, id: CpuId) -> CpuSet {
    let dir = format!("{CPUS}/cpu{id}/topology");
    root.cpus(&format!("{dir}/core_cpus_list"), &format!("{dir}/core_cpus"))
        .or_else(|_| {
            root.cpus(&format!("{dir}/thread_siblings_list"), &format!("{dir}/thread_siblings"))
        })
        .ok()
        .filter(|set| set.contains(id))
        .unwrap_or_else(|| CpuSet::from_iter([id]))
}

/// Two cores of an AMD module (family 15h) share a front end; the kernel calls them siblings, yet
/// gives each a core number. They count as cores. True if any were split.
fn split_modules(cpus: &mut [Cpu]) -> bool {
    let cores: BTreeMap<CpuId, Option<u32>> =
        cpus.iter().map(|cpu| (cpu.id, cpu.core.get().copied())).collect();
    let mut split = false;
    for cpu in cpus {
        let core = cpu.core.get().copied();
        let same: CpuSet =
            cpu.siblings.iter().filter(|id| cores.get(id).is_some_and(|c| *c == core)).collect();
        split |= same != cpu.siblings;
        cpu.siblings = same;
    }
    split
}

#[derive(Default)]
struct Sockets {
    /// By the kernel's number, or by a running number if it gives none.
    by_id: BTreeMap<u32, CpuSet>,
    unnumbered: bool,
}

impl Sockets {
    fn of(&mut self, root: &Root, cpu: CpuId) -> Known<u32> {
        let dir = format!("{CPUS}/cpu{cpu}/topology");
        let told = root.number::<i64>(&format!("{dir}/physical_package_id"));
        let id = match told.get().map(|&id| u32::try_from(id)) {
            Some(Ok(id)) => id,
            // POWER under a hypervisor reports -1: fall back on package siblings.
            Some(Err(_)) => self.unnumbered(root, &dir, cpu),
            None => return told.map(|_| 0),
        };
        self.by_id.entry(id).or_default().insert(cpu);
        Known::Is(id)
    }

    fn unnumbered(&mut self, root: &Root, dir: &str, cpu: CpuId) -> u32 {
        self.unnumbered = true;
        let same = root
            .cpus(&format!("{dir}/package_cpus_list"), &format!("{dir}/package_cpus"))
            .or_else(|_| {
                root.cpus(&format!("{dir}/core_siblings_list"), &format!("{dir}/core_siblings"))
            })
            .ok()
            .unwrap_or_else(|| CpuSet::from_iter([cpu]));
        let known = self.by_id.iter().find(|(_, cpus)| cpus.intersects(&same)).map(|(&id, _)| id);
        known.or_else(|| (0..=u32::MAX).find(|id| !self.by_id.contains_key(id))).unwrap_or_default()
    }

    fn finish(self) -> Vec<Socket> {
        self.by_id.into_iter().map(|(id, cpus)| Socket { id, cpus }).collect()
    }
}

/// Kinds of core on a hybrid machine; empty if all are alike.
fn kinds(root: &Root, online: &(impl Iterator<Item = CpuId> + Clone)) -> BTreeMap<CpuId, String> {
    let mut kinds = BTreeMap::new();
    for kind in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
        if let Known::Is(cpus) = root.list_of::<CpuId>(&format!("sys/devices/{kind}/cpus")) {
            kinds.extend(cpus.iter().map(|cpu| (cpu, kind.to_owned())));
        }
    }
    if !kinds.is_empty() {
        return kinds;
    }
    // Arm reports the capacity, Intel without its PMU driver the base frequency.
    for (file, unit) in [("cpu_capacity", "capacity"), ("cpufreq/base_frequency", "base kHz")] {
        for cpu in online.clone() {
            if let Known::Is(value) = root.text(&format!("{CPUS}/cpu{cpu}/{file}")) {
                kinds.insert(cpu, format!("{unit} {value}"));
            }
        }
        let mut distinct: Vec<&String> = kinds.values().collect();
        distinct.sort();
        distinct.dedup();
        if distinct.len() > 1 {
            return kinds;
        }
        kinds.clear();
    }
    kinds
}
