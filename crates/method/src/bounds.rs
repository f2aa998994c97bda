//! Bounds of a load on a host in use: `--allow-load[=cpus:0-7,mem:8G]`.
//!
//! Method: the bounds narrow the machine that is planned on. The process pins itself to the CPUs
//! before it starts threads, and the load monitor watches its memory.
//! Limits: the kernel does not enforce the bounds. Disks and networks have none.

use hopcost_core::{Code, CpuSet, Known, Limit, Machine, Reason};

use crate::overrides;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// `None`: all usable CPUs.
    pub cpus: Option<CpuSet>,
    /// `None`: half of the available memory.
    pub memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub cpus: CpuSet,
    pub memory_bytes: u64,
}

/// Memory a load must leave free: a twentieth of `total`, or half of `available` if that is less.
pub fn floor_bytes(total: u64, available: u64) -> u64 {
    (total / 20).min(available / 2)
}

pub fn read(text: &str) -> Result<Allowance, Reason> {
    parsed(text).map_err(|wrong| Code::BadValue.because(wrong))
}

fn parsed(text: &str) -> Result<Allowance, String> {
    let mut allowance = Allowance::default();
    for (key, value) in parts(text)? {
        let taken = match key {
            "cpus" => allowance.cpus.replace(cpus(&value)?).is_some(),
            "mem" => {
                let bytes =
                    overrides::bytes(&value).map_err(|wrong| format!("mem:{value}: {wrong}"));
                allowance.memory_bytes.replace(bytes?).is_some()
            }
            key => return Err(format!("there is no '{key}'; known: cpus, mem")),
        };
        if taken {
            return Err(format!("'{key}' is given twice"));
        }
    }
    Ok(allowance)
}

/// Splits at commas; a part without a key continues the value before it.
fn parts(text: &str) -> Result<Vec<(&str, String)>, String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match (part.split_once(':'), parts.last_mut()) {
            (Some((key, value)), _) => parts.push((key.trim(), value.trim().to_owned())),
            (None, Some(("cpus", value))) => {
                value.push(',');
                value.push_str(part);
            }
            (None, _) => return Err(format!("'{part}' is no KEY:VALUE; write cpus:0-7,mem:8G")),
        }
    }
    Ok(parts)
}

fn cpus(value: &str) -> Result<CpuSet, String> {
    let cpus = CpuSet::parse_list(value).map_err(|error| format!("cpus:{value}: {error}"))?;
    if cpus.is_empty() { Err("cpus: names no CPU; write cpus:0-7".into()) } else { Ok(cpus) }
}

impl Allowance {
    pub fn everything() -> Self {
        Self { cpus: None, memory_bytes: Some(u64::MAX) }
    }

    /// An allowance above the available memory is no error: the lower of the two bounds applies.
    pub fn on(&self, machine: &Machine) -> Result<Bounds, Reason> {
        let usable = &machine.limits.cpus;
        let cpus = self.cpus.clone().unwrap_or_else(|| usable.clone());
        let absent = cpus.difference(usable);
        if !absent.is_empty() {
            let words = format!("cpus:{cpus}: CPU {absent} cannot be used; {usable} can");
            return Err(Code::BadValue.because(words));
        }
        let available = machine.available_bytes();
        let total = machine.nodes.iter().filter_map(|node| node.total_bytes.get()).sum();
        let most = available - floor_bytes(total, available);
        let memory_bytes = self.memory_bytes.unwrap_or(available / 2).min(most);
        Ok(Bounds { cpus, memory_bytes })
    }
}

impl Bounds {
    pub fn narrow(&self, machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        let limits = &mut machine.limits;
        limits.cpus = limits.cpus.intersection(&self.cpus);
        let used = limits.memory_used_bytes.get().copied().unwrap_or(0);
        let allowed = used.saturating_add(self.memory_bytes);
        let granted = limits.memory_bytes.get().copied().and_then(Limit::at);
        limits.memory_used_bytes = Known::Is(used);
        limits.memory_bytes = Known::Is(Limit::At(granted.map_or(allowed, |b| b.min(allowed))));
        for cpu in &mut machine.cpus {
            cpu.usable &= self.cpus.contains(cpu.id);
        }
        machine.measure_ladder();
        machine
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::CpuId;
    use hopcost_sys::{Root, topology};

    use super::*;

    fn allowance(cpus: Option<&str>, memory_bytes: Option<u64>) -> Allowance {
        Allowance { cpus: cpus.map(|list| CpuSet::parse_list(list).unwrap()), memory_bytes }
    }

    #[test]
    fn reads_what_is_promised() {
        for (text, expected) in [
            ("", allowance(None, None)),
            ("cpus:0-7,mem:8G", allowance(Some("0-7"), Some(8 << 30))),
            ("mem:512M", allowance(None, Some(512 << 20))),
            ("cpus:0-3,8,10-11,mem:1G", allowance(Some("0-3,8,10-11"), Some(1 << 30))),
            (" mem:1G , cpus:2, 4 ", allowance(Some("2,4"), Some(1 << 30))),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, said) in [
            ("0-7", "'0-7' is no KEY:VALUE; write cpus:0-7,mem:8G"),
            ("mem:8G,0-7", "'0-7' is no KEY:VALUE"),
            ("cpu:0-7", "there is no 'cpu'; known: cpus, mem"),
            ("cpus:7-0", "cpus:7-0: '7-0' in '7-0' is not a number or a range"),
            ("cpus:", "cpus: names no CPU"),
            ("mem:8X", "mem:8X: 'X' is no unit"),
            ("mem:12", "mem:12: 1M is the least"),
            ("cpus:1,mem:1G,cpus:2", "'cpus' is given twice"),
        ] {
            assert!(read(text).unwrap_err().as_str().starts_with(said), "{text}: {:?}", read(text));
        }
    }

    /// Four CPUs on two nodes of 8 GiB, half of each free.
    fn machine() -> Machine {
        let mut text = String::from("hopcost machine recording, version 1\n");
        let mut file = |path: &str, content: &str| {
            text.push_str(&["> ", path, "\n", content, "\n"].concat());
        };
        file("sys/devices/system/cpu/online", "0-3");
        for cpu in 0..4 {
            file(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"), &cpu.to_string());
        }
        for node in 0..2 {
            let dir = format!("sys/devices/system/node/node{node}");
            file(&format!("{dir}/cpulist"), &format!("{}-{}", 2 * node, 2 * node + 1));
            file(
                &format!("{dir}/meminfo"),
                &format!("Node {node} MemTotal: 8388608 kB\nNode {node} MemFree: 4194304 kB"),
            );
        }
        topology::read(&Root::from_text(&text).unwrap())
    }

    #[test]
    fn what_is_not_said_is_all_cpus_and_half_of_the_memory() {
        let bounds = Allowance::default().on(&machine()).unwrap();
        assert_eq!(bounds, Bounds { cpus: machine().limits.cpus, memory_bytes: 4 << 30 });
        let most = (8 << 30) - (16 << 30) / 20;
        for more in [allowance(None, Some(64 << 30)), Allowance::everything()] {
            assert_eq!(more.on(&machine()).unwrap().memory_bytes, most);
        }
        assert_eq!(floor_bytes(16 << 30, 1 << 20), 1 << 19);
        let wrong = allowance(Some("2-5"), None).on(&machine()).unwrap_err();
        assert_eq!(wrong.as_str(), "cpus:2-5: CPU 4-5 cannot be used; 0-3 can");
    }

    #[test]
    fn a_narrowed_machine_has_nothing_else_to_give() {
        let bounds = allowance(Some("2-3"), Some(1 << 30)).on(&machine()).unwrap();
        let narrow = bounds.narrow(&machine());
        assert_eq!(narrow.limits.cpus, bounds.cpus);
        assert_eq!(narrow.available_bytes(), 1 << 30);
        assert!(!narrow.cpu(CpuId(0)).unwrap().usable && narrow.cpu(CpuId(2)).unwrap().usable);
        let rows: Vec<u32> = narrow.nodes_with_cpus().map(|node| node.id.0).collect();
        assert_eq!(rows, [1]);
        let of_nodes = |nodes| hopcost_core::Emulation { nodes, ..Default::default() };
        assert_eq!(narrow.emulated(&of_nodes(2)).unwrap().available_bytes(), 1 << 30);
        assert!(narrow.emulated(&of_nodes(3)).is_err());
        assert_eq!(bounds.narrow(&narrow).available_bytes(), 1 << 30);
    }
}
