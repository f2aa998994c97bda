//! What a variant asks of a database, from the planner to the instance.
//!
//! A new setting that is passed through untouched is a field of [`CopyChoice`] or
//! [`SessionChoice`]: variants hold both, the planner hands them on whole, and only the engine
//! looks at them.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::ids::{CpuId, CpuSet, NodeId};
use crate::proof::PageSize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The first thread to touch it; the kernel gets no policy.
    FirstTouch,
    /// The kernel: page by page on each node in turn.
    Interleave,
    /// The kernel: on one node only.
    Bind,
    /// A bound copy on each node; a client uses the copy of its own node.
    PerNode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Audit {
    Off,
    /// The statement, once: who asked what, and when.
    Statements,
    /// Everything it can log: also how long it took, and how it was done.
    Trace,
}

/// Properties of a copy of the data; another value needs another copy or server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyChoice {
    /// `None` leaves it to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Different numbers are different copies, wherever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// `None` leaves it to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageSize>,
    /// Whether a managed server asks for reserved huge pages; `None` leaves it to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<bool>,
}

impl CopyChoice {
    /// With all keys, because it is part of the identity of stored runs.
    pub(crate) fn with_all_keys<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("policy", &self.policy)?;
        map.serialize_entry("instance", &self.instance)?;
        map.serialize_entry("pages", &self.pages)?;
        // Runs stored before this key existed lack it.
        if self.huge_pages.is_some() {
            map.serialize_entry("huge_pages", &self.huge_pages)?;
        }
        map.end()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionChoice {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

impl SessionChoice {
    /// With all keys, because it is part of the identity of stored runs.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
    pub(crate) fn with_all_keys<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("audit", &self.audit)?;
        map.end()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataPlacement {
    /// `None` if it is on several nodes, or anywhere.
    pub node: Option<NodeId>,
    pub copy: CopyChoice,
}

impl DataPlacement {
    #[must_use]
    pub fn by(self, policy: Policy) -> Self {
        Self { copy: CopyChoice { policy: Some(policy), ..self.copy }, ..self }
    }
}

impl From<CopyChoice> for DataPlacement {
    fn from(copy: CopyChoice) -> Self {
        Self { node: None, copy }
    }
}

impl From<NodeId> for DataPlacement {
    fn from(node: NodeId) -> Self {
        Self { node: Some(node), ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parallel {
    /// The session's own process and its parallel workers.
    pub dop: u32,
    /// Node of the process that starts the workers; `None` is anywhere.
    pub postmaster: Option<NodeId>,
    pub workers: Option<NodeId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantSettings {
    /// Node of the data; `None` leaves it to the engine.
    pub home: Option<NodeId>,
    #[serde(flatten)]
    pub copy: CopyChoice,
    /// CPUs that serve requests, in order of use: one per core first. Empty leaves it to a database
    /// in another process.
    pub workers: Vec<CpuId>,
    /// Their node, if they are on one.
    pub at: Option<NodeId>,
    /// The node of each worker, if they are on several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeId>,
    pub log_writer: Option<CpuSet>,
    pub parallel: Option<Parallel>,
    #[serde(flatten)]
    pub session: SessionChoice,
}

impl VariantSettings {
    pub fn on_cpus(workers: Vec<CpuId>) -> Self {
        Self { workers, ..Self::default() }
    }

    /// The copy of the data in use; `None` leaves it to the engine. With a copy per node, the
    /// client decides which.
    pub fn data(&self) -> Option<DataPlacement> {
        let data = DataPlacement { node: self.home, copy: self.copy };
        (data != DataPlacement::default()).then_some(data)
    }

    #[must_use]
    pub fn on(self, data: DataPlacement) -> Self {
        Self { home: data.node, copy: data.copy, ..self }
    }

    pub fn copies(&self) -> Vec<DataPlacement> {
        match self.data() {
            Some(data) if self.is_per_node() => {
                self.nodes.iter().map(|node| DataPlacement { node: Some(*node), ..data }).collect()
            }
            data => data.into_iter().collect(),
        }
    }

    pub fn log_writer_cpu(&self) -> Option<CpuId> {
        self.log_writer.as_ref().and_then(CpuSet::first)
    }

    /// `None` if the clients are on one node.
    pub fn node_of(&self, stream: u32) -> Option<NodeId> {
        self.nodes.get(self.turn_of(stream)).copied()
    }

    pub fn of_stream(&self, stream: u32, seed: u64) -> SessionPlacement {
        let node = self.node_of(stream);
        let own = |data: DataPlacement| match node.filter(|_| self.is_per_node()) {
            Some(node) => DataPlacement { node: Some(node), ..data },
            None => data,
        };
        SessionPlacement {
            data: self.data().map(own),
            node: self.at.or(node),
            backend_cpu: self.workers.get(self.turn_of(stream)).copied(),
            stream,
            seed,
        }
    }

    fn is_per_node(&self) -> bool {
        self.copy.policy == Some(Policy::PerNode)
    }

    fn turn_of(&self, stream: u32) -> usize {
        stream as usize % self.workers.len().max(1)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionPlacement {
    /// `None` leaves it to the engine.
    pub data: Option<DataPlacement>,
    pub node: Option<NodeId>,
    /// CPU for the backend of a database in another process.
    pub backend_cpu: Option<CpuId>,
    pub stream: u32,
    pub seed: u64,
}
