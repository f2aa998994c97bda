//! Emulated machines: virtual nodes over the CPUs that exist, with injected delays.
//!
//! This checks the method: injected delays are counted and must be found. It says nothing about the
//! machine, and every result is marked as emulated.

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::distances::Distances;
use crate::ids::{CpuSet, NodeId, NodeSet};
use crate::known::{Known, Reason};
use crate::machine::{Avoided, Machine, Node, Socket};
use crate::scaling::Contention;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Emulation {
    pub nodes: u32,
    pub remote_ns: f64,
    pub bimodal: Option<Bimodal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<LessBandwidth>,
    /// Pairs of CPUs act as threads of one core, with this joint throughput relative to one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siblings: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usl: Option<Contention>,
}

/// What runs at the same time as a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Company {
    pub streams: u32,
    pub most_streams: u32,
    pub threads: u32,
    pub shares_core: bool,
}

impl Default for Emulation {
    fn default() -> Self {
        Self { nodes: 2, remote_ns: 0.0, bimodal: None, bandwidth: None, siblings: None, usl: None }
    }
}

impl Emulation {
    pub fn is_of_calls(&self) -> bool {
        self.remote_ns > 0.0
            || self.bimodal.is_some()
            || self.slows_siblings()
            || self.usl.is_some()
    }

    pub fn slows_siblings(&self) -> bool {
        self.siblings.is_some_and(|gain| gain < THREADS_OF_A_CORE)
    }

    pub fn times(&self, company: &Company) -> f64 {
        let together = self.siblings.filter(|_| company.shares_core);
        let for_core = together.map_or(1.0, |gain| THREADS_OF_A_CORE / gain);
        for_core * self.usl.map_or(1.0, |contention| company.times(contention))
    }
}

const THREADS_OF_A_CORE: f64 = 2.0;

impl Company {
    /// Clients may outnumber CPUs. For the law to hold up to the largest client count, all calls
    /// are slowed by that count.
    fn times(&self, contention: Contention) -> f64 {
        let streams = f64::from(self.streams);
        contention.slowed(streams) * f64::from(self.most_streams) * f64::from(self.threads)
            / streams
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessBandwidth {
    pub node: NodeId,
    pub share: f64,
}

/// The emulated machine, as the experiment sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seeming<'a> {
    pub machine: &'a Machine,
    pub emulation: Emulation,
}

/// The real machine under an emulated one.
#[derive(Clone, Copy, Debug)]
pub struct Planted<'a> {
    pub ground: &'a Machine,
    pub emulation: Emulation,
}

/// A share (0 to 1) of calls takes a multiple (1 or more) of their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bimodal {
    pub share: f64,
    pub times: f64,
}

const EMULATED: &str = "the node is emulated";

impl Machine {
    pub fn node_under(&self, emulated: &Self, node: NodeId) -> NodeId {
        let cpu = emulated.node(node).and_then(|node| node.cpus.first());
        let real = cpu.and_then(|cpu| self.nodes.iter().find(|real| real.cpus.contains(cpu)));
        real.map_or(node, |real| real.id)
    }

    /// This machine with its usable CPUs split over the emulated nodes, each a socket of its own.
    /// CPUs are cores of their own or, in pairs, threads of one.
    pub fn emulated(&self, emulation: &Emulation) -> Result<Self, Reason> {
        let (nodes, usable) = (emulation.nodes, self.limits.cpus.len());
        if nodes == 0 || nodes as usize > usable {
            return Err(
                Code::NotEmulated.because(format!("{usable} usable CPUs cannot be {nodes} nodes"))
            );
        }
        let mut machine = self.clone();
        machine.nodes.clear();
        machine.sockets.clear();
        machine.caches.retain(|cache| cache.level <= 2);
        machine.devices.clear();
        for node in 0..nodes {
            let cpus = share_of(&self.limits.cpus, node as usize, nodes as usize);
            let cores = cores_of(&cpus, if emulation.siblings.is_some() { 2 } else { 1 });
            for cpu in machine.cpus.iter_mut().filter(|cpu| cpus.contains(cpu.id)) {
                cpu.node = Known::Is(NodeId(node));
                cpu.socket = Known::Is(node);
                let own = cores.iter().position(|core| core.contains(cpu.id));
                cpu.core = Known::Is(own.unwrap_or(0) as u32);
                cpu.siblings = own.map_or_else(CpuSet::new, |own| cores[own].clone());
            }
            machine.sockets.push(Socket { id: node, cpus: cpus.clone() });
            machine.nodes.push(self.virtual_node(node, nodes, cpus));
        }
        let ids: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        machine.limits.nodes = ids.iter().copied().collect::<NodeSet>();
        machine.distances = Distances {
            nodes: ids,
            firmware: Known::missing(Code::OnEmulated, EMULATED),
            hmat: Known::missing(Code::OnEmulated, EMULATED),
            classes: Vec::new(),
            ladder: Vec::new(),
        };
        machine.measure_ladder();
        Ok(machine)
    }

    fn virtual_node(&self, number: u32, of: u32, cpus: CpuSet) -> Node {
        let share = |bytes: fn(&Node) -> &Known<u64>| {
            let ours = self.nodes.iter().filter(|node| node.avoided != Some(Avoided::GpuMemory));
            let all = ours.filter_map(|node| bytes(node).get());
            Known::Is(all.sum::<u64>() / u64::from(of))
        };
        Node {
            id: NodeId(number),
            usable: true,
            cpus,
            total_bytes: share(|node| &node.total_bytes),
            free_bytes: share(|node| &node.free_bytes),
            available_bytes: share(|node| &node.available_bytes),
            huge_pages: Vec::new(),
            access0: Known::missing(Code::OnEmulated, EMULATED),
            access1: Known::missing(Code::OnEmulated, EMULATED),
            tier: Known::missing(Code::OnEmulated, EMULATED),
            memory_caches: Vec::new(),
            avoided: None,
        }
    }
}

fn cores_of(cpus: &CpuSet, threads: usize) -> Vec<CpuSet> {
    let all: Vec<_> = cpus.iter().collect();
    all.chunks(threads).map(|core| core.iter().copied().collect()).collect()
}

fn share_of(cpus: &CpuSet, n: usize, of: usize) -> CpuSet {
    let (from, to) = (cpus.len() * n / of, cpus.len() * (n + 1) / of);
    cpus.iter().skip(from).take(to - from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_set_are_equal_and_complete() {
        let cpus = CpuSet::parse_list("0,2,4,6,8").unwrap();
        let parts: Vec<String> = (0..2).map(|n| share_of(&cpus, n, 2).to_string()).collect();
        assert_eq!(parts, ["0,2", "4,6,8"]);
        let cores: Vec<String> = cores_of(&cpus, 2).iter().map(ToString::to_string).collect();
        assert_eq!(cores, ["0,2", "4,6", "8"]);
    }

    #[test]
    fn threads_of_a_core_share_what_it_does() {
        let emulation = Emulation { siblings: Some(1.25), ..Emulation::default() };
        let alone = Company { streams: 2, most_streams: 2, threads: 2, shares_core: false };
        let beside = Company { shares_core: true, ..alone };
        let times = |company| (10.0 * emulation.times(company)).round() as u32;
        assert_eq!([times(&alone), times(&beside)], [10, 16]);
    }

    #[test]
    fn streams_follow_the_law_however_few_threads_serve_them() {
        let law = Contention { sigma: 0.05, kappa: 0.02 };
        let emulation = Emulation { usl: Some(law), ..Emulation::default() };
        // Without the law, a thread does 1 unit per second.
        let done = |streams: u32| {
            let threads = streams.min(2);
            let company = Company { streams, most_streams: 16, threads, shares_core: false };
            let times = emulation.times(&company);
            assert!(times >= 1.0, "nothing can be made shorter: {times}");
            f64::from(threads) / times
        };
        for n in 1..=16 {
            let of_law =
                f64::from(n) / (1.0 + 0.05 * f64::from(n - 1) + 0.02 * f64::from(n * (n - 1)));
            assert!((done(n) / done(1) - of_law).abs() < 1e-12, "{n}");
        }
    }
}
