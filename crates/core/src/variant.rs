//! What a variant of an experiment asks of a database: one value, from the planner to the instance.
//!
//! A new setting that passes through untouched is a field of [`CopyChoice`] or [`SessionChoice`]: the experiment's
//! level holds both, the planner hands them on whole, and only the engine that can do it looks at them.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::ids::{CpuId, CpuSet, NodeId};
use crate::proof::PageSize;

/// Who decides on which node each page of the data lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Whoever touches it first, from its node: the kernel is told nothing.
    FirstTouch,
    /// The kernel: page by page on each node in turn.
    Interleave,
    /// The kernel: on its node and nowhere else.
    Bind,
    /// A copy of its own for each node, bound there; a stream uses that of the node that it stands on.
    PerNode,
}

/// What a database writes down of each statement, for whoever has to know later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Audit {
    Off,
    /// The statement, once: who asked what, and when.
    Statements,
    /// Everything that it can tell: how long it took, and how it was done.
    Trace,
}

/// What a copy of the data is made by: another value takes a copy, or a server, of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyChoice {
    /// Who decides on which node each page lies; none leaves it to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Copies with different numbers are different ones, wherever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// The pages that it lies on; the engine's choice, if none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageSize>,
    /// Does a server of our own ask for reserved huge pages? Its choice if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<bool>,
}

impl CopyChoice {
    /// As a level has it within the identity of a stored run, for ever: by all keys.
    pub(crate) fn with_all_keys<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("policy", &self.policy)?;
        map.serialize_entry("instance", &self.instance)?;
        map.serialize_entry("pages", &self.pages)?;
        // Runs that were stored before there was this key have none.
        if self.huge_pages.is_some() {
            map.serialize_entry("huge_pages", &self.huge_pages)?;
        }
        map.end()
    }
}

/// What is set when a session is opened, or a variant entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionChoice {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

impl SessionChoice {
    /// As a level has it within the identity of a stored run, for ever: by all keys.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
    pub(crate) fn with_all_keys<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("audit", &self.audit)?;
        map.end()
    }
}

/// A copy of the data: where, and by whose decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataPlacement {
    /// The node that all of it is on; none where it is on several, or anywhere.
    pub node: Option<NodeId>,
    /// What else it is made by.
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

/// A query on which several processes work, where these are a database's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parallel {
    /// How many: the session's own, and the parallel workers that it asks for.
    pub dop: u32,
    /// The node of the process that starts the workers; anywhere, if none is named.
    pub postmaster: Option<NodeId>,
    /// The node that the workers are pinned to once they run.
    pub workers: Option<NodeId>,
}

/// What one variant asks of the database, bound to the nodes and CPUs of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantSettings {
    /// The node of the data; none leaves it to the engine.
    pub home: Option<NodeId>,
    #[serde(flatten)]
    pub copy: CopyChoice,
    /// The CPUs that requests are worked on, in the order in which they are used: one per core first.
    /// None leaves that to a database that is another process.
    pub workers: Vec<CpuId>,
    /// The node that they stand on, where it is one.
    pub at: Option<NodeId>,
    /// The node of each of them, where they stand on several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeId>,
    pub log_writer: Option<CpuSet>,
    /// Who works on a query, where several processes do.
    pub parallel: Option<Parallel>,
    #[serde(flatten)]
    pub session: SessionChoice,
}

impl VariantSettings {
    /// What leaves all but the workers' CPUs open.
    pub fn on_cpus(workers: Vec<CpuId>) -> Self {
        Self { workers, ..Self::default() }
    }

    /// The copy of the data that is used; none leaves it to the engine. Of a copy for each node, which
    /// of them is the stream's business.
    pub fn data(&self) -> Option<DataPlacement> {
        let data = DataPlacement { node: self.home, copy: self.copy };
        (data != DataPlacement::default()).then_some(data)
    }

    /// With this copy of the data.
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

    /// The CPU on which the log writer belongs, if it is placed.
    pub fn log_writer_cpu(&self) -> Option<CpuId> {
        self.log_writer.as_ref().and_then(CpuSet::first)
    }

    /// The node of a stream, where they stand on several.
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

/// Where a session belongs, and which copy of the data it is to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionPlacement {
    /// The copy of the data; none leaves it to the engine.
    pub data: Option<DataPlacement>,
    /// The node of its thread, where it is on one.
    pub node: Option<NodeId>,
    /// The CPU on which a database that is another process is to work for it.
    pub backend_cpu: Option<CpuId>,
    pub stream: u32,
    pub seed: u64,
}
