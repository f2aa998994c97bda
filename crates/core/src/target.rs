//! The contract between a database under test and whoever drives it.

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
    /// The machine as the experiment sees it: with its emulated nodes, where there are any.
    pub machine: &'a Machine,
    pub ground: &'a Machine,
    /// The data; none where the workload needs none.
    pub dataset: Option<&'a dyn Dataset>,
    pub workload: &'a dyn Workload,
    pub shape: Shape,
    /// What the experiment asks for, level by level; empty where there is none.
    pub levels: &'a [Level],
    /// Where data has to live: a copy of all of it in each of these places.
    pub homes: Vec<DataPlacement>,
    pub emulation: Option<Emulation>,
    /// Where generated data is kept for the next run.
    pub cache_dir: PathBuf,
    /// The part of the target's URL after the colon.
    pub address: &'a str,
    /// The most sessions that will be open at once.
    pub sessions: u32,
    /// Is what was loaded to stay in a database that is not ours?
    pub keep_data: bool,
    /// May a server that is not ours be changed, or written to though others follow it?
    pub allow_server_changes: bool,
    /// Writes down, for whoever has to clear up after a kill, that something is about to be made in a
    /// place that is not ours.
    pub promise: &'a dyn Fn() -> Result<(), String>,
}

impl Setup<'_> {
    pub fn spec(&self) -> WorkloadSpec {
        self.workload.spec(self.shape)
    }

    /// Why a target refuses what is asked, if it does, whatever the machine and the server are.
    pub fn refusal(&self, target: &dyn Target) -> Option<Reason> {
        let Self { levels, homes, emulation, allow_server_changes, .. } = self;
        let demand =
            Demand::of(levels, homes, &self.spec(), emulation.as_ref(), *allow_server_changes);
        target.capabilities(self.address).refusal(&demand)
    }

    /// The same as an error, for `open`.
    pub fn accepted_by(&self, target: &dyn Target) -> Result<(), TargetError> {
        self.refusal(target).map_or(Ok(()), |reason| Err(TargetError::NotHere(reason)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// Bytes on each home.
    pub home_bytes: u64,
    /// Bytes of each stream.
    pub stream_bytes: u64,
    pub disk_bytes: u64,
}

/// Something that a target says to a server, in the server's own language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// Its name; a statement's, a table's.
    pub name: String,
    pub about: String,
    /// The versions of the server that it is for.
    pub versions: String,
    /// What it was tried on; none where it is experimental.
    pub tried: Option<String>,
    pub sql: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Loading<'a> {
    /// The step, such as `tran_stats: 2,000,000 rows`.
    pub what: &'a str,
    /// The share of it that is done.
    pub done: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookups {
    /// Page acquisitions since the last reading, by the page's node.
    pub acquisitions: BTreeMap<NodeId, u64>,
    /// Different pages of memory looked at since the session began, by the node that they are on now.
    pub distinct_pages: BTreeMap<NodeId, u64>,
}

impl Lookups {
    /// With another session's.
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

/// What a session counted since the last reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// What it looked up; none where the target cannot tell.
    pub lookups: Option<Lookups>,
    /// Time that planted distance really took.
    pub planted: Duration,
    /// The CPUs on which its work was last seen.
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

/// How closely placement is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Some thousand pages of each home.
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

/// Why a call failed, in the database's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// This call; the next one may succeed.
    #[error("{0}")]
    Failed(String),
    /// The connection is gone, and with it the run.
    #[error("{0}")]
    Lost(String),
}

/// A kind of database. A new one is one file or folder in `engines`.
pub trait Target: Sync {
    /// Its name: the part of a target's URL before the colon.
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// Does it work on the threads that ask it, within our own process?
    fn is_in_process(&self) -> bool {
        true
    }

    /// Has it threads there of its own, beside those that ask it?
    fn has_own_threads(&self) -> bool {
        false
    }

    /// How the part of its URL after the colon reads without anything secret; or what is wrong with it,
    /// in words.
    fn address(&self, given: &str) -> Result<String, Reason> {
        if given.is_empty() {
            return Ok(String::new());
        }
        Err(Code::BadUrl.because(format!("write {}: alone, it is built in", self.name())))
    }

    /// Removes what a killed run left in a place that is not ours; in words.
    fn clear(&self, _address: &str) -> Result<String, Reason> {
        Ok("nothing is left".to_owned())
    }

    /// An address of each form that it can do different things with.
    fn forms(&self) -> &'static [&'static str] {
        &[""]
    }

    /// What it can do at an address. Who plans asks for it, and so does `open`, before anything is touched.
    fn capabilities(&self, address: &str) -> Capabilities;

    /// Why it can never tell this metric, on such a machine, if it cannot.
    fn untold(&self, _metric: Metric, _emulation: Option<&Emulation>) -> Option<Reason> {
        None
    }

    /// What it would say to a server for this, where that is known without one.
    fn spoken(&self, _setup: &Setup<'_>) -> Vec<Spoken> {
        Vec::new()
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs;

    /// Brings it up, with its data in place. `heard` is called now and then, and ends the loading
    /// where it returns false.
    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError>;
}

pub trait Instance: Sync {
    /// What it is, in the words and version numbers that a result needs.
    fn identity(&self) -> String;

    /// A connection for the calling thread, for sessions of this variant.
    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError>;

    /// Once before each window: what the variant asks of the whole database is set up, which may take a while.
    fn enter_variant(&self, _variant: &VariantSettings) -> Result<(), TargetError> {
        Ok(())
    }

    /// Once after each window, before its sessions are asked what they counted: what the whole database
    /// counted since it was entered.
    fn leave_variant(&self, _variant: &VariantSettings) -> Counted {
        Counted::default()
    }

    /// Reads back where the data lies, home by home; missing where it cannot be told.
    fn prove(&self, look: Look) -> Known<Vec<Locality>>;

    /// How each of the workload's statements is carried out, in the database's own words.
    fn plans(&self) -> Result<Vec<String>, TargetError>;

    /// The processes of its own that work on requests, where they are not our threads.
    fn workers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// What it counts itself, as it stands now. Asked for right before a window, and right after its
    /// sessions have handed in what they counted.
    fn readings(&self) -> Vec<Reading> {
        Vec::new()
    }

    /// Closes all connections: whoever waits for an answer finds that out at once.
    fn hang_up(&self) {}

    /// Removes what was brought, and says what a reader of the result should know.
    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }
}

impl dyn Instance + '_ {
    /// The session of a variant's first stream.
    pub fn first_session(
        &self,
        variant: &VariantSettings,
    ) -> Result<Box<dyn Session>, TargetError> {
        self.session(variant, variant.of_stream(0, 0))
    }
}

/// A connection. It belongs to the thread that asked for it.
pub trait Session {
    /// One call, from its beginning to the last row of its answer.
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError>;

    /// What was counted since the last reading.
    fn counted(&mut self) -> Counted;

    fn begin_counting(&mut self) {
        self.counted();
    }

    /// The other end of it, where calls are answered by another process: a thread with several such
    /// sessions asks each and waits for whichever answers.
    fn remote(&mut self) -> Option<&mut dyn Remote> {
        None
    }
}

/// What goes over a connection, where whoever drives many sends and receives for all of them at once. By
/// default the connection does that itself.
#[derive(Debug, Default)]
pub struct Mail<'a> {
    /// Takes what is to be sent.
    pub out: Option<&'a mut Vec<u8>>,
    /// What has come: no bytes where the other end is gone. What is missing of an answer comes to the
    /// connection itself.
    pub came: Option<io::Result<&'a [u8]>>,
}

/// A session whose calls can be sent without waiting for their answers.
pub trait Remote {
    /// Sends a call. The answer to the last one has to be taken before.
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError>;

    /// Takes the answer, which has begun to arrive or is waited for. None where the call goes on: more
    /// has been sent, and is answered in its turn.
    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError>;

    /// Can others send and receive for it?
    fn takes_mail(&self) -> bool {
        false
    }

    /// How long the call that was sent rests before it goes on: nothing arrives until then, and the answer
    /// is to be taken when that time is over. None where it does not rest.
    fn rest(&self) -> Option<Duration> {
        None
    }

    /// Becomes readable when an answer begins to arrive.
    fn socket(&self) -> BorrowedFd<'_>;
}
