//! What a machine is: sockets, CPUs, caches, memory nodes, and the limits set on us there.

use serde::{Deserialize, Serialize};

use crate::distances::Distances;
use crate::ids::{CpuId, CpuSet, NodeId, NodeSet};
use crate::known::Known;

/// One machine as its kernel describes it.
///
/// The JSON of `hopcost machine --json` is this value; its keys are documented in `docs/JSON.md`. It
/// reads back as it was, so that a stored run is shown with the machine that it ran on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Version of this description; grows when a key changes its meaning or goes.
    pub version: u32,
    pub host: Known<String>,
    pub kernel: Known<String>,
    pub processor: Known<String>,
    pub page_bytes: u64,
    pub sockets: Vec<Socket>,
    /// All CPUs that are present, by number, those off-line or forbidden included.
    pub cpus: Vec<Cpu>,
    /// The caches, level by level, each once.
    pub caches: Vec<Cache>,
    pub nodes: Vec<Node>,
    pub distances: Distances,
    pub limits: Limits,
    pub virtualization: Virtualization,
    /// Devices with a home node: network cards and NVMe disks.
    pub devices: Vec<Device>,
    /// What was odd in the reading, for the reader.
    pub notes: Vec<String>,
}

/// A socket (package).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Socket {
    /// The kernel's number, or a running number where the kernel gives none.
    pub id: u32,
    pub cpus: CpuSet,
}

/// A logical CPU: one hardware thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cpu {
    pub id: CpuId,
    /// Does the kernel schedule on it?
    pub online: bool,
    /// May this process run there (on-line, in the cpuset, in the affinity mask)?
    pub usable: bool,
    /// The socket's number.
    pub socket: Known<u32>,
    /// The die's number within the socket.
    pub die: Known<u32>,
    /// The cluster's number: cores that share a mid-level cache or a bus segment.
    pub cluster: Known<u32>,
    /// The core's number within its socket (within its die on some machines).
    pub core: Known<u32>,
    /// All hardware threads of its core, itself included.
    pub siblings: CpuSet,
    pub node: Known<NodeId>,
    /// The kind of core on a hybrid machine, such as `cpu_atom`.
    pub kind: Known<String>,
    /// The highest frequency it may reach.
    pub max_mhz: Known<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cache {
    pub level: u32,
    pub kind: CacheKind,
    pub bytes: Known<u64>,
    pub line_bytes: Known<u32>,
    /// Associativity.
    pub ways: Known<u32>,
    pub cpus: CpuSet,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub usable: bool,
    /// Its CPUs; empty for memory-only nodes.
    pub cpus: CpuSet,
    /// Its memory; 0 for a node that has CPUs alone.
    pub total_bytes: Known<u64>,
    /// Memory that nothing uses.
    pub free_bytes: Known<u64>,
    /// Free memory and half of the page cache, which the kernel gives up when asked.
    pub available_bytes: Known<u64>,
    /// Reserved huge pages, by size.
    pub huge_pages: Vec<HugePool>,
    /// The firmware's rating of its memory as seen from the best initiator of any kind.
    pub access0: Known<Rating>,
    /// The same from the best initiator that is a CPU.
    pub access1: Known<Rating>,
    pub tier: Known<u32>,
    /// Memory-side caches before it.
    pub memory_caches: Vec<MemoryCache>,
    /// Why nothing is placed there unless somebody asks for it by its number; none of a node like any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoided: Option<Avoided>,
}

/// Why nothing is placed on a node unless somebody asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Avoided {
    GpuMemory,
    /// Other nodes claim CPUs of it, too: where these are near is unknown.
    SharedCpus,
}

impl Node {
    /// Memory without CPUs?
    pub fn is_memory_only(&self) -> bool {
        self.cpus.is_empty() && self.has_memory()
    }

    pub fn has_memory(&self) -> bool {
        self.total_bytes.get().is_some_and(|&bytes| bytes > 0)
    }
}

/// Huge pages of one size reserved on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePool {
    pub page_bytes: u64,
    pub total: u64,
    /// Pages of them free.
    pub free: u64,
}

/// What the firmware says of a node's memory. A rating, never a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub initiators: NodeSet,
    pub read_latency_ns: Known<u32>,
    pub write_latency_ns: Known<u32>,
    pub read_mb_per_s: Known<u32>,
    pub write_mb_per_s: Known<u32>,
}

/// A cache that stands before a node's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCache {
    /// Its level, 1 nearest to the memory's user.
    pub level: u32,
    pub bytes: u64,
}

/// A bound that may be absent by design: in JSON a number or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Limit<T> {
    #[serde(rename = "unlimited")]
    Unlimited,
    #[serde(untagged)]
    At(T),
}

impl<T> Limit<T> {
    pub fn at(self) -> Option<T> {
        match self {
            Self::Unlimited => None,
            Self::At(bound) => Some(bound),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// CPUs on-line, in the cpuset and in the affinity mask.
    pub cpus: CpuSet,
    pub nodes: NodeSet,
    /// The control group that bounds us.
    pub cgroup: Known<String>,
    /// CPU time the control group grants, in CPUs.
    pub cpu_quota: Known<Limit<f64>>,
    /// Memory the control group grants; less where the user allows less (`--allow-load`).
    pub memory_bytes: Known<Limit<u64>>,
    /// Memory the control group has charged already, less the page cache that it gives up when asked.
    pub memory_used_bytes: Known<u64>,
    /// Memory that may be locked (`ulimit -l`).
    pub locked_bytes: Known<Limit<u64>>,
    /// Files that may be open (`ulimit -n`).
    pub open_files: Known<Limit<u64>>,
}

/// Whether the machine is a real one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Virtualization {
    /// Is it a guest? Then its topology is what the hypervisor tells, not what is.
    pub guest: Known<bool>,
    pub hypervisor: Known<String>,
    pub container: Known<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    Network,
    Nvme,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    pub name: String,
    pub kind: DeviceKind,
    pub node: Known<NodeId>,
}

impl Machine {
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        let at = self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?;
        Some(&self.cpus[at])
    }

    pub fn node(&self, id: NodeId) -> Option<&Node> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        Some(&self.nodes[at])
    }

    /// The nodes on which something is placed where nobody names any: those that may be used, without those that
    /// are avoided. Where all of them are avoided, the first one that has memory: it has to be somewhere.
    pub fn nodes_by_default(&self) -> NodeSet {
        let first = self.nodes_with_memory().next().map(|node| node.id);
        let (cpus, nodes) = (&self.limits.cpus, &self.limits.nodes);
        let ours = |node: &&Node| nodes.contains(node.id) || node.cpus.intersects(cpus);
        let ours = self.nodes.iter().filter(ours).filter(|node| node.avoided.is_none());
        ours.map(|node| node.id).chain(first).collect()
    }

    /// The nodes that can be a row of a memory matrix: usable CPUs stand there.
    pub fn nodes_with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.cpus.intersects(&self.limits.cpus))
    }

    /// The nodes that can be a column of one: memory that we may use, whether it is avoided or not.
    pub fn all_nodes_with_memory(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.usable && node.has_memory())
    }

    /// Those of them on which something is placed where nobody names any.
    pub fn nodes_with_memory(&self) -> impl Iterator<Item = &Node> {
        let all = || self.all_nodes_with_memory();
        let is_for_all = |node: &&Node| node.avoided.is_none();
        let first = all().find(is_for_all).or_else(|| all().next()).map(|node| node.id);
        all().filter(move |node| is_for_all(node) || first == Some(node.id))
    }

    /// Memory that we may take: what the nodes have available, as far as it is granted to us.
    pub fn available_bytes(&self) -> u64 {
        let ours = self.nodes.iter().filter(|node| node.avoided != Some(Avoided::GpuMemory));
        let available = ours.filter_map(|node| node.available_bytes.get().copied());
        let nodes = available.fold(0, u64::saturating_add);
        let granted = self.limits.memory_bytes.get().copied().and_then(Limit::at);
        let used = self.limits.memory_used_bytes.get().copied().unwrap_or(0);
        granted.map_or(nodes, |granted| granted.saturating_sub(used).min(nodes))
    }

    /// One usable CPU of each core, in the order of the numbers.
    pub fn one_cpu_per_core(&self, among: &CpuSet) -> CpuSet {
        let mut seen = CpuSet::new();
        let mut chosen = CpuSet::new();
        for id in among.intersection(&self.limits.cpus).iter() {
            let Some(cpu) = self.cpu(id) else { continue };
            if !seen.contains(id) {
                chosen.insert(id);
                seen.extend(cpu.siblings.iter());
            }
        }
        chosen
    }

    /// One CPU of each core first, then the siblings.
    pub fn in_order_of_use(&self, among: &CpuSet) -> Vec<CpuId> {
        let first = self.one_cpu_per_core(among);
        first.iter().chain(among.difference(&first).iter()).collect()
    }

    /// The level of the cache that is last before memory.
    pub fn last_cache_level(&self) -> Option<u32> {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction)
            .map(|c| c.level)
            .max()
    }

    /// The last-level cache of a CPU.
    pub fn last_cache_of(&self, cpu: CpuId) -> Option<&Cache> {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction && cache.cpus.contains(cpu))
            .max_by_key(|cache| cache.level)
    }
}
