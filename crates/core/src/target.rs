//! Interface between a database under test and its driver.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answer::Answer;
use crate::capability::{Capabilities, Demand};
use crate::code::Code;
use crate::dataset::Dataset;
use crate::emulation::Emulation;
use crate::experiment::Level;
use crate::ids::{CpuSet, NodeId};
use crate::known::{Known, Reason};
use crate::machine::Machine;
use crate::metric::{Checks, Metric};
use crate::observer::Reading;
use crate::proof::Locality;
use crate::variant::{DataPlacement, SessionPlacement, VariantSettings};
use crate::workload::{Request, Shape, Workload, WorkloadSpec};

#[derive(Clone)]
pub struct Setup<'a> {
    /// As the experiment sees it: with its emulated nodes, if any.
    pub machine: &'a Machine,
    pub ground: &'a Machine,
    /// `None` if the workload needs no data.
    pub dataset: Option<&'a dyn Dataset>,
    pub workload: &'a dyn Workload,
    pub shape: Shape,
    pub levels: &'a [Level],
    /// One full copy of the data for each of these.
    pub homes: Vec<DataPlacement>,
    pub emulation: Option<Emulation>,
    pub cache_dir: PathBuf,
    /// The part of the target's URL after the colon.
    pub address: &'a str,
    pub sessions: u32,
    pub keep_data: bool,
    /// Whether an existing server may be changed, or written to although it has replicas.
    pub allow_server_changes: bool,
    /// Records, for cleanup after a kill, that something is about to be created on an existing
    /// server.
    pub promise: &'a dyn Fn() -> Result<(), String>,
}

impl Setup<'_> {
    pub fn spec(&self) -> WorkloadSpec {
        self.workload.spec(self.shape)
    }

    pub fn refusal(&self, target: &dyn Target) -> Option<Reason> {
        let Self { levels, homes, emulation, allow_server_changes, .. } = self;
        let demand =
            Demand::of(levels, homes, &self.spec(), emulation.as_ref(), *allow_server_changes);
        target.capabilities(self.address).refusal(&demand)
    }

    pub fn accepted_by(&self, target: &dyn Target) -> Result<(), TargetError> {
        self.refusal(target).map_or(Ok(()), |reason| Err(TargetError::NotHere(reason)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// For each copy of the data.
    pub home_bytes: u64,
    /// For each client.
    pub stream_bytes: u64,
    pub disk_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    pub name: String,
    pub about: String,
    pub versions: String,
    /// What it was tried on; `None` if experimental.
    pub tried: Option<String>,
    pub sql: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Loading<'a> {
    pub what: &'a str,
    pub done: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookups {
    /// Page accesses since the last reading, by the page's node.
    pub acquisitions: BTreeMap<NodeId, u64>,
    /// Distinct pages accessed since the session began, by their current node.
    pub distinct_pages: BTreeMap<NodeId, u64>,
}

impl Lookups {
    pub fn add(&mut self, other: &Self) {
        for (into, from) in [
            (&mut self.acquisitions, &other.acquisitions),
            (&mut self.distinct_pages, &other.distinct_pages),
        ] {
            for (node, count) in from {
                *into.entry(*node).or_default() += count;
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// `None` if the target cannot count page accesses.
    pub lookups: Option<Lookups>,
    pub planted: Duration,
    pub at: CpuSet,
    pub proved: Checks,
}

impl Counted {
    pub fn sum(of_sessions: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        for counted in of_sessions {
            sum.planted += counted.planted;
            sum.at.extend(counted.at.iter());
            if let Some(lookups) = counted.lookups {
                sum.lookups.get_or_insert_default().add(&lookups);
            }
            for (metric, [held, of]) in counted.proved {
                let all = sum.proved.entry(metric).or_default();
                *all = [all[0] + held, all[1] + of];
            }
        }
        sum
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Some thousand pages of each copy.
    Glance,
    Full,
}

#[derive(Debug, Error)]
pub enum TargetError {
    #[error("{0}")]
    NotHere(Reason),
    #[error("{0}")]
    Failed(String),
    #[error("interrupted")]
    Interrupted,
}

impl TargetError {
    pub fn code(&self) -> Code {
        match self {
            Self::NotHere(reason) => reason.code(),
            Self::Failed(_) => Code::EngineFailed,
            Self::Interrupted => Code::Interrupted,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    #[error("{0}")]
    Failed(String),
    /// The connection is gone, and with it the run.
    #[error("{0}")]
    Lost(String),
}

/// A kind of database. To add one, add one file or folder to `engines`.
pub trait Target: Sync {
    /// The part of a target's URL before the colon.
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// Whether it runs on the calling threads, within hopcost's process.
    fn is_in_process(&self) -> bool {
        true
    }

    /// Whether it has threads of its own in that process.
    fn has_own_threads(&self) -> bool {
        false
    }

    /// The address without secrets, or what is wrong with it.
    fn address(&self, given: &str) -> Result<String, Reason> {
        if given.is_empty() {
            return Ok(String::new());
        }
        Err(Code::BadUrl.because(format!("write {}: alone, it is built in", self.name())))
    }

    /// Removes what a killed run left on an existing server; returns a message.
    fn clear(&self, _address: &str) -> Result<String, Reason> {
        Ok("nothing is left".to_owned())
    }

    /// One address of each form that has different capabilities.
    fn forms(&self) -> &'static [&'static str] {
        &[""]
    }

    /// Capabilities at an address. The planner and `open` check them before anything is touched.
    fn capabilities(&self, address: &str) -> Capabilities;

    fn untold(&self, _metric: Metric, _emulation: Option<&Emulation>) -> Option<Reason> {
        None
    }

    /// What it would send to a server for this, as far as known without one.
    fn spoken(&self, _setup: &Setup<'_>) -> Vec<Spoken> {
        Vec::new()
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs;

    /// Starts it with its data in place. `heard` is called now and then; if it returns false,
    /// loading ends.
    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError>;
}

pub trait Instance: Sync {
    fn identity(&self) -> String;

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError>;

    /// Called once before each window: sets up what the variant asks of the whole database. May be
    /// slow.
    fn enter_variant(&self, _variant: &VariantSettings) -> Result<(), TargetError> {
        Ok(())
    }

    /// Called once after each window, before its sessions are asked for their counts: what the
    /// whole database counted since [`Self::enter_variant`].
    fn leave_variant(&self, _variant: &VariantSettings) -> Counted {
        Counted::default()
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>>;

    fn plans(&self) -> Result<Vec<String>, TargetError>;

    /// Server processes that work on requests, if these are not hopcost's threads.
    fn workers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The database's own counters. Read right before a window, and right after its sessions have
    /// reported their counts.
    fn readings(&self) -> Vec<Reading> {
        Vec::new()
    }

    /// Closes all connections; threads that wait for an answer notice at once.
    fn hang_up(&self) {}

    /// Removes what was set up; returns notes for the result.
    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }
}

impl dyn Instance + '_ {
    pub fn first_session(
        &self,
        variant: &VariantSettings,
    ) -> Result<Box<dyn Session>, TargetError> {
        self.session(variant, variant.of_stream(0, 0))
    }
}

/// A connection, used only by the thread that opened it.
pub trait Session {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError>;

    fn counted(&mut self) -> Counted;

    fn begin_counting(&mut self) {
        self.counted();
    }

    /// Present if another process answers the calls: one thread can then drive several sessions.
    fn remote(&mut self) -> Option<&mut dyn Remote> {
        None
    }
}

/// Bytes of a connection whose driver sends and receives for many at once. Without them the
/// connection does its own I/O.
#[derive(Debug, Default)]
pub struct Mail<'a> {
    pub out: Option<&'a mut Vec<u8>>,
    /// Bytes that arrived; empty if the peer is gone. The connection itself reads the rest of an
    /// incomplete answer.
    pub came: Option<io::Result<&'a [u8]>>,
}

pub trait Remote {
    /// The answer to the last call must have been received.
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError>;

    /// Takes the answer, which has begun to arrive or is waited for. `None` if the call goes on:
    /// more was sent, and its answer follows.
    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError>;

    fn takes_mail(&self) -> bool {
        false
    }

    /// How long the sent call is delayed: nothing arrives until then, and the answer is to be taken
    /// afterwards. `None` without a delay.
    fn rest(&self) -> Option<Duration> {
        None
    }

    /// Becomes readable when an answer begins to arrive.
    fn socket(&self) -> BorrowedFd<'_>;
}
