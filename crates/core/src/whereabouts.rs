//! Where a running database is: its processes, their CPUs, and its memory by node.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ids::{CpuId, CpuSet, NodeId, NodeSet};
use crate::known::Known;

pub type BytesByNode = BTreeMap<NodeId, u64>;

/// The value of `hopcost where --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whereabouts {
    pub version: u32,
    pub host: Known<String>,
    pub servers: Vec<Located>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Located {
    pub name: String,
    pub version: Known<String>,
    pub pid: Known<u32>,
    pub data_directory: Known<String>,
    /// TCP ports it listens on, or the configured one if the server reports that.
    pub ports: Known<BTreeSet<u16>>,
    pub sockets: Known<BTreeSet<String>>,
    pub began_s: Known<i64>,
    pub host: Host,
    pub processes: Vec<Standing>,
    pub shared: Known<SharedBytes>,
    /// Connections from outside this host, by address.
    pub remote_clients: Known<BTreeMap<String, usize>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    pub name: Known<String>,
    pub known_by: Option<&'static str>,
    /// Address at which the server was reached, as the server sees it.
    pub address: Known<String>,
    pub is_here: Known<bool>,
    /// Why it is considered so; `None` if it was found among this host's processes.
    pub because: Option<String>,
}

/// Memory shared by several processes, counted once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedBytes {
    pub bytes: Known<u64>,
    /// As seen by the process that has touched most of it.
    pub by_node: BytesByNode,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub role: Known<String>,
    /// Number on this host, or on the server's if that is another.
    pub pid: u32,
    /// The leader of a parallel worker; `None` for others.
    pub leader: Option<u32>,
    pub cpus: Known<CpuSet>,
    pub nodes: Known<NodeSet>,
    pub last_cpu: Known<CpuId>,
    pub node: Known<NodeId>,
    pub policy: Known<String>,
    pub private_by_node: Known<BytesByNode>,
    pub shared_by_node: Known<BytesByNode>,
    /// If there are several; grouped by name and CPUs.
    pub threads: Vec<Threads>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threads {
    /// `*` replaces a number at the end that distinguishes them.
    pub name: String,
    pub tids: Vec<u32>,
    pub cpus: Known<CpuSet>,
    pub nodes: Known<NodeSet>,
    pub last_cpus: CpuSet,
    pub last_nodes: NodeSet,
}
