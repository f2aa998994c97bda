//! The inspected host: its processes, its servers, and where each process is placed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hopcost_core::{
    Code, CpuId, CpuSet, Known, Machine, NodeId, NodeSet, Reason, SharedBytes, Standing, Threads,
};
use hopcost_sys::processes::{self, Processes};
use hopcost_sys::{Root, clock, standing};

use super::memory::{self, Memory};
use crate::occupancy::servers::{self, Found};
use hopcost_sys::titles::SESSION;

pub struct Ground<'a> {
    pub root: &'a Root,
    pub machine: &'a Machine,
    pub all: Processes,
    pub servers: Vec<Found>,
    online: CpuSet,
    begun: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub role: Known<String>,
    pub pid: u32,
    pub leader: Option<u32>,
}

/// The kernel walks all touched memory to count it by node, and blocks the process's new mappings
/// meanwhile. This limits the delay for a server with very many processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The initial pid namespace: its number is the same on all hosts.
const ALL_PROCESSES: &str = "pid:[4026531836]";

impl<'a> Ground<'a> {
    pub fn look(root: &'a Root, machine: &'a Machine) -> Result<Self, Reason> {
        let all = match processes::read(root) {
            Known::Is(all) => all,
            Known::Missing(reason) => return Err(reason),
        };
        let servers = servers::find(root, &all);
        let online = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        Ok(Self { root, machine, all, servers, online, begun: clock::now() })
    }

    pub fn hidden(&self) -> &'static str {
        // Pid 1 exists in every pid namespace.
        if self.all.get(1).is_none() {
            return " that can be seen; /proc hides other users' processes (hidepid): look as root";
        }
        let space = self.root.link("proc/self/ns/pid");
        if space.get().is_some_and(|space| space != ALL_PROCESSES) {
            return " that can be seen; in a container only its own processes are: look on the host";
        }
        ""
    }

    pub fn name(&self, pid: u32) -> Known<String> {
        let process = self.all.get(pid).map(|process| process.name.clone());
        Known::found(process, Code::Ended, || "the process has ended")
    }

    /// Placement of these processes, `head` first and sessions last, and what they share.
    pub fn stand(&self, mut parts: Vec<Part>, head: u32) -> (Vec<Standing>, Known<SharedBytes>) {
        parts.sort_by_key(|part| {
            let is_session = part.role.get().is_some_and(|role| role == SESSION);
            let of = part.leader.unwrap_or(part.pid);
            (part.pid != head, is_session || part.leader.is_some(), of, part.leader, part.pid)
        });
        parts.retain(|part| self.root.has_dir(&standing::of_process(part.pid)));
        let memories: Vec<Memory> = parts.iter().map(|part| self.memory(part.pid)).collect();
        let shared = memory::shared_once(&memories);
        let together = parts.into_iter().zip(memories);
        (together.map(|(part, memory)| self.standing(part, memory)).collect(), shared)
    }

    fn memory(&self, pid: u32) -> Memory {
        if self.begun.elapsed() > PATIENCE {
            let words =
                format!("reading the memory of all took more than {} s", PATIENCE.as_secs());
            return Memory::missing(&Code::Unreadable.because(words));
        }
        Memory::read(self.root, self.machine, pid)
    }

    fn standing(&self, part: Part, memory: Memory) -> Standing {
        let at = standing::of_process(part.pid);
        let cpus = self.cpus(&at);
        let last_cpu = standing::last_cpu(self.root, &at);
        Standing {
            role: part.role,
            pid: part.pid,
            leader: part.leader,
            nodes: cpus.as_ref().map(|cpus| self.nodes_of(cpus)),
            cpus,
            node: last_cpu.as_ref().and_then(|cpu| self.node_of(*cpu)),
            last_cpu,
            shared_by_node: memory.shared_by_node(),
            policy: memory.policy,
            private_by_node: memory.private,
            threads: self.threads(part.pid),
        }
    }

    fn threads(&self, pid: u32) -> Vec<Threads> {
        let tids = self.root.numbered(&format!("proc/{pid}/task"), "").ok().unwrap_or_default();
        if tids.len() < 2 {
            return Vec::new();
        }
        let mut groups: BTreeMap<(String, String), Threads> = BTreeMap::new();
        for tid in tids {
            let at = standing::of_thread(pid, tid);
            let Known::Is(name) = standing::name(self.root, &at) else { continue };
            let cpus = self.cpus(&at);
            let group = groups.entry((stem(&name), cpus.to_string())).or_insert_with(|| Threads {
                name: name.clone(),
                tids: Vec::new(),
                nodes: cpus.as_ref().map(|cpus| self.nodes_of(cpus)),
                cpus,
                last_cpus: CpuSet::new(),
                last_nodes: NodeSet::new(),
            });
            if group.name != name {
                group.name = stem(&name);
            }
            group.tids.push(tid);
            if let Known::Is(cpu) = standing::last_cpu(self.root, &at) {
                group.last_cpus.insert(cpu);
                group.last_nodes.extend(self.node_of(cpu).ok());
            }
        }
        let mut groups: Vec<Threads> = groups.into_values().collect();
        groups.sort_by(|a, b| a.tids.cmp(&b.tids));
        groups
    }

    /// Allowed and present: the kernel's list may include absent CPUs.
    fn cpus(&self, at: &str) -> Known<CpuSet> {
        let is_told = !self.online.is_empty();
        let there = |cpus: CpuSet| if is_told { cpus.intersection(&self.online) } else { cpus };
        standing::cpus(self.root, at).map(there)
    }

    fn nodes_of(&self, cpus: &CpuSet) -> NodeSet {
        let nodes = self.machine.nodes.iter().filter(|node| node.cpus.intersects(cpus));
        nodes.map(|node| node.id).collect()
    }

    fn node_of(&self, cpu: CpuId) -> Known<NodeId> {
        let missing = || {
            Known::missing(Code::NotApplicable, format!("this host's topology has no CPU {cpu}"))
        };
        self.machine.cpu(cpu).map_or_else(missing, |cpu| cpu.node.clone())
    }
}

fn stem(name: &str) -> String {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if stem.is_empty() || stem.len() == name.len() { name.to_owned() } else { format!("{stem}*") }
}

impl Part {
    pub fn named(role: Known<String>, pid: u32) -> Self {
        Self { role, pid, leader: None }
    }
}
