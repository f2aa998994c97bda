//! The machine model: sockets, CPUs, caches, memory nodes, and the limits on this process.

use serde::{Deserialize, Serialize};

use crate::distances::Distances;
use crate::ids::{CpuId, CpuSet, NodeId, NodeSet};
use crate::known::Known;

/// The value of `hopcost machine --json`; docs/reference/json.md documents its keys. It also deserializes, so
/// that a stored run is shown with its machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub version: u32,
    pub host: Known<String>,
    pub kernel: Known<String>,
    pub processor: Known<String>,
    pub page_bytes: u64,
    pub sockets: Vec<Socket>,
    /// All present CPUs by number, including those off-line or forbidden.
    pub cpus: Vec<Cpu>,
    pub caches: Vec<Cache>,
    pub nodes: Vec<Node>,
    pub distances: Distances,
    pub limits: Limits,
    pub virtualization: Virtualization,
    /// Network cards and NVMe disks.
    pub devices: Vec<Device>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Socket {
    /// The kernel's number, or a running number if it gives none.
    pub id: u32,
    pub cpus: CpuSet,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cpu {
    pub id: CpuId,
    pub online: bool,
    /// Whether this process may run there: on-line, in the cpuset and in the affinity mask.
    pub usable: bool,
    pub socket: Known<u32>,
    pub die: Known<u32>,
    /// Cores that share a mid-level cache or a bus segment.
    pub cluster: Known<u32>,
    /// Number within the socket (within the die on some machines).
    pub core: Known<u32>,
    /// All hardware threads of the core, this one included.
    pub siblings: CpuSet,
    pub node: Known<NodeId>,
    /// Kind of core on a hybrid machine, such as `cpu_atom`.
    pub kind: Known<String>,
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
    pub ways: Known<u32>,
    pub cpus: CpuSet,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub usable: bool,
    /// Empty for memory-only nodes.
    pub cpus: CpuSet,
    /// 0 for a node that has only CPUs.
    pub total_bytes: Known<u64>,
    pub free_bytes: Known<u64>,
    /// Free memory and half of the page cache, which the kernel reclaims on demand.
    pub available_bytes: Known<u64>,
    pub huge_pages: Vec<HugePool>,
    /// Firmware rating as seen from the best initiator of any kind.
    pub access0: Known<Rating>,
    /// The same from the best initiator that is a CPU.
    pub access1: Known<Rating>,
    pub tier: Known<u32>,
    pub memory_caches: Vec<MemoryCache>,
    /// Why nothing is placed there unless the user names the node; `None` for ordinary nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoided: Option<Avoided>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Avoided {
    GpuMemory,
    /// Other nodes claim its CPUs, too, so distances to it are unknown.
    SharedCpus,
}

impl Node {
    pub fn is_memory_only(&self) -> bool {
        self.cpus.is_empty() && self.has_memory()
    }

    pub fn has_memory(&self) -> bool {
        self.total_bytes.get().is_some_and(|&bytes| bytes > 0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePool {
    pub page_bytes: u64,
    pub total: u64,
    pub free: u64,
}

/// The firmware's rating of a node's memory, never a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    pub initiators: NodeSet,
    pub read_latency_ns: Known<u32>,
    pub write_latency_ns: Known<u32>,
    pub read_mb_per_s: Known<u32>,
    pub write_mb_per_s: Known<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCache {
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
    pub cpus: CpuSet,
    pub nodes: NodeSet,
    pub cgroup: Known<String>,
    pub cpu_quota: Known<Limit<f64>>,
    /// Granted by the control group; less if the user allows less (`--allow-load`).
    pub memory_bytes: Known<Limit<u64>>,
    /// Charged to the control group, less the page cache that it can reclaim.
    pub memory_used_bytes: Known<u64>,
    /// `ulimit -l`.
    pub locked_bytes: Known<Limit<u64>>,
    /// `ulimit -n`.
    pub open_files: Known<Limit<u64>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Virtualization {
    /// A guest's topology is what the hypervisor reports.
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

    /// Nodes used if the user names none: usable and not avoided. If all are avoided, the first one
    /// with memory.
    pub fn nodes_by_default(&self) -> NodeSet {
        let first = self.nodes_with_memory().next().map(|node| node.id);
        let (cpus, nodes) = (&self.limits.cpus, &self.limits.nodes);
        let ours = |node: &&Node| nodes.contains(node.id) || node.cpus.intersects(cpus);
        let ours = self.nodes.iter().filter(ours).filter(|node| node.avoided.is_none());
        ours.map(|node| node.id).chain(first).collect()
    }

    /// Rows of a memory matrix: nodes with usable CPUs.
    pub fn nodes_with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.cpus.intersects(&self.limits.cpus))
    }

    /// Columns of a memory matrix: nodes with usable memory, avoided or not.
    pub fn all_nodes_with_memory(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.usable && node.has_memory())
    }

    /// Those used if the user names none.
    pub fn nodes_with_memory(&self) -> impl Iterator<Item = &Node> {
        let all = || self.all_nodes_with_memory();
        let is_for_all = |node: &&Node| node.avoided.is_none();
        let first = all().find(is_for_all).or_else(|| all().next()).map(|node| node.id);
        all().filter(move |node| is_for_all(node) || first == Some(node.id))
    }

    /// What the nodes have available, bounded by the control group.
    pub fn available_bytes(&self) -> u64 {
        let ours = self.nodes.iter().filter(|node| node.avoided != Some(Avoided::GpuMemory));
        let available = ours.filter_map(|node| node.available_bytes.get().copied());
        let nodes = available.fold(0, u64::saturating_add);
        let granted = self.limits.memory_bytes.get().copied().and_then(Limit::at);
        let used = self.limits.memory_used_bytes.get().copied().unwrap_or(0);
        granted.map_or(nodes, |granted| granted.saturating_sub(used).min(nodes))
    }

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
        let rest = among.difference(&first);
        // A damaged description may allow CPUs that it does not have.
        let is_there = |cpu: &CpuId| self.cpu(*cpu).is_some();
        first.iter().chain(rest.iter()).filter(is_there).collect()
    }

    pub fn last_cache_level(&self) -> Option<u32> {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction)
            .map(|c| c.level)
            .max()
    }

    pub fn last_cache_of(&self, cpu: CpuId) -> Option<&Cache> {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction && cache.cpus.contains(cpu))
            .max_by_key(|cache| cache.level)
    }
}
