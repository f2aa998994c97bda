//! Where a running database is: its processes, the CPUs they may use, its memory by node.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ids::{CpuId, CpuSet, NodeId, NodeSet};
use crate::known::Known;

pub type BytesByNode = BTreeMap<NodeId, u64>;

/// What was found of a database that was asked for: `hopcost where --json` is this value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whereabouts {
    /// Version of this description; grows when a key changes its meaning or goes.
    pub version: u32,
    pub host: Known<String>,
    pub servers: Vec<Located>,
}

/// A server, or another process, and where it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Located {
    /// The kind of server, or the name of a process that is none.
    pub name: String,
    pub version: Known<String>,
    /// Its first process.
    pub pid: Known<u32>,
    pub data_directory: Known<String>,
    /// The TCP ports that it listens on; the one it is configured for, where it names that itself.
    pub ports: Known<BTreeSet<u16>>,
    /// The Unix sockets that it listens on.
    pub sockets: Known<BTreeSet<String>>,
    /// When it began, in seconds since 1970.
    pub began_s: Known<i64>,
    pub host: Host,
    /// Its processes, the first one first.
    pub processes: Vec<Standing>,
    pub shared: Known<SharedBytes>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    pub name: Known<String>,
    /// By which way the name is known; none where it is not.
    pub known_by: Option<&'static str>,
    /// The address that the server was reached at, as it sees it.
    pub address: Known<String>,
    pub is_here: Known<bool>,
    /// Why we think so, in words; none where it was found among the processes of this host.
    pub because: Option<String>,
}

/// Memory that several processes share, counted once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedBytes {
    /// How large it is, touched or not.
    pub bytes: Known<u64>,
    /// Where it lies, as far as the process shows it that has touched most of it.
    pub by_node: BytesByNode,
}

/// A process: what it is for, where it may run and ran, whose memory it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// What it is for, in the server's words, or its name.
    pub role: Known<String>,
    /// Its number: on this host, or on the server's where that is another.
    pub pid: u32,
    /// The process that a parallel worker works for; none of others.
    pub leader: Option<u32>,
    pub cpus: Known<CpuSet>,
    pub nodes: Known<NodeSet>,
    pub last_cpu: Known<CpuId>,
    pub node: Known<NodeId>,
    /// The memory policy of most of its mappings, in the kernel's words.
    pub policy: Known<String>,
    pub private_by_node: Known<BytesByNode>,
    /// What it has touched of the memory that is shared.
    pub shared_by_node: Known<BytesByNode>,
    /// Its threads where there are several, those of one name and the same CPUs together.
    pub threads: Vec<Threads>,
}

/// Threads of one name that may use the same CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threads {
    /// Their name; `*` stands for a number at its end that tells them apart.
    pub name: String,
    pub tids: Vec<u32>,
    pub cpus: Known<CpuSet>,
    pub nodes: Known<NodeSet>,
    pub last_cpus: CpuSet,
    pub last_nodes: NodeSet,
}
