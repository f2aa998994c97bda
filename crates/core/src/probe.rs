//! Interface between hardware probes and their runner.
//!
//! A [`Probe`] lists the [`Cell`]s it could fill on a [`Site`]. Opened, it becomes a [`Rig`] with
//! memory placed and threads ready, which is asked for samples cell by cell in any order, and for
//! [`Proof`] before and after.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::code::Code;
use crate::distances::DistanceClass;
use crate::emulation::Planted;
use crate::estimate::{Estimate, Occasion, Spread, Unit};
use crate::ids::{CpuId, CpuSet, NodeId, NodeSet};
use crate::known::{Known, Reason};
use crate::machine::Machine;
use crate::proof::{PageSize, Proof};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Seconds per probe: the headline figures.
    Quick,
    /// Some tens of seconds.
    Normal,
    /// Minutes: every variant, tight intervals.
    Full,
}

#[derive(Clone, Debug)]
pub struct Site<'a> {
    pub machine: &'a Machine,
    /// The machine under an emulated one.
    pub planted: Option<Planted<'a>>,
    pub effort: Effort,
    pub cpus: CpuSet,
    pub nodes: NodeSet,
    pub size_bytes: Option<u64>,
    pub stride_bytes: Option<u64>,
    /// `None` takes what the machine has.
    pub pages: Option<PageSize>,
    /// Whether memory can be bound to a node; otherwise first touch places it.
    pub may_bind: bool,
    pub log_dir: PathBuf,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Cpu(CpuId),
    Node(NodeId),
    CoresOf(NodeId),
    Class(DistanceClass),
    /// A number such as parallel chains: the axis of a curve.
    Count(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(cpu) => f.pad(&format!("cpu {cpu}")),
            Self::Node(node) => f.pad(&format!("node {node}")),
            Self::CoresOf(node) => f.pad(&format!("cores of {node}")),
            Self::Class(class) => f.pad(class.name()),
            Self::Count(count) => f.pad(&count.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What is measured, such as `random, 64 MiB`.
    pub series: String,
    pub row: Place,
    pub column: Place,
    pub class: Known<DistanceClass>,
    pub unit: Unit,
    /// The CPUs taking part, or why this cell cannot be measured here.
    pub cpus: Known<Vec<CpuId>>,
}

impl Cell {
    pub fn is_ready(&self) -> bool {
        self.cpus.get().is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    Moved,
    Preempted,
    Waited,
    Stolen,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Moved => "thread moved",
            Self::Preempted => "preempted",
            Self::Waited => "waited for its CPU",
            Self::Stolen => "CPU time stolen",
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Recorder {
    samples: Vec<f64>,
    dropped: BTreeMap<Disturbance, u64>,
    counters: BTreeMap<&'static str, u64>,
}

impl Recorder {
    pub fn sample(&mut self, value: f64, quiet: Result<(), Disturbance>) {
        match quiet {
            Ok(()) => self.samples.push(value),
            Err(disturbance) => *self.dropped.entry(disturbance).or_default() += 1,
        }
    }

    pub fn count(&mut self, counter: &'static str, events: u64) {
        *self.counters.entry(counter).or_default() += events;
    }

    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    pub fn dropped(&self) -> &BTreeMap<Disturbance, u64> {
        &self.dropped
    }

    pub fn counters(&self) -> &BTreeMap<&'static str, u64> {
        &self.counters
    }
}

#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("{0}")]
    NotHere(Reason),
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        source: std::io::Error,
    },
}

/// To add one, add one file to `host`.
pub trait Probe: Sync {
    fn name(&self) -> &'static str;

    fn question(&self) -> &'static str;

    /// Whether it runs when the user asks for all probes; special ones run only by name.
    fn is_for_all(&self) -> bool {
        true
    }

    /// The standard deviation of a figure between occasions in a guest, as a share: assumed until
    /// the store has occasions to learn it from.
    fn assumed_in_a_guest(&self) -> f64;

    fn cells(&self, site: &Site<'_>) -> Vec<Cell>;

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError>;

    /// Memory that [`Probe::open`] will place: by node, the bytes of each region.
    fn memory_needed(&self, _site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        Vec::new()
    }

    fn advise(&self, _site: &Site<'_>, _results: &[CellResult]) -> Vec<Warning> {
        Vec::new()
    }
}

pub trait Rig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError>;

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError>;

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub text: String,
    pub advice: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredOutcome", into = "StoredOutcome")]
pub enum Outcome {
    Measured {
        /// Median over rounds, with its interval.
        estimate: Estimate,
        spread: Spread,
    },
    Missing(Reason),
    /// Measured, but the placement did not hold, so it does not count.
    Void(Reason),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredOutcome {
    Measured {
        measured: StoredFigure,
    },
    Missing {
        missing: String,
        #[serde(default)]
        code: Code,
    },
    Void {
        void: String,
        #[serde(default)]
        code: Code,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredFigure {
    estimate: Estimate,
    spread: Spread,
}

impl From<Outcome> for StoredOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Measured { estimate, spread } => {
                Self::Measured { measured: StoredFigure { estimate, spread } }
            }
            Outcome::Missing(reason) => {
                Self::Missing { missing: reason.as_str().to_owned(), code: reason.code() }
            }
            Outcome::Void(reason) => {
                Self::Void { void: reason.as_str().to_owned(), code: reason.code() }
            }
        }
    }
}

impl From<StoredOutcome> for Outcome {
    fn from(stored: StoredOutcome) -> Self {
        match stored {
            StoredOutcome::Measured { measured: StoredFigure { estimate, spread } } => {
                Self::Measured { estimate, spread }
            }
            StoredOutcome::Missing { missing, code } => Self::Missing(code.because(missing)),
            StoredOutcome::Void { void, code } => Self::Void(code.because(void)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    #[serde(flatten)]
    pub cell: Cell,
    pub outcome: Outcome,
    /// Before the first sample and after the last; missing for unmeasured cells.
    pub proof: Known<[Proof; 2]>,
    pub dropped: BTreeMap<Disturbance, u64>,
    pub counters: BTreeMap<Cow<'static, str>, u64>,
    /// The figure of each start, in time; empty for one start alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<f64>,
    /// `None` if the interval is that of this hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occasion: Option<Occasion>,
}

impl CellResult {
    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.outcome {
            Outcome::Measured { estimate, .. } => Some(estimate),
            Outcome::Missing(_) | Outcome::Void(_) => None,
        }
    }
}

impl ProbeReport {
    pub fn is_disturbed(&self) -> bool {
        let is_disturbed = |cell: &CellResult| matches!(&cell.outcome, Outcome::Missing(reason) if reason.code() == Code::OthersAtWork);
        self.cells.iter().any(is_disturbed)
            && self.cells.iter().all(|cell| cell.estimate().is_none())
    }

    /// Others used the CPUs in more than a quarter of the starts: its figures are not those of a quiet hour.
    pub fn is_noisy(&self) -> bool {
        4 * self.contended > self.starts
    }
}

/// Reports of earlier versions are of one.
const fn one_start() -> u64 {
    1
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    pub probe: Cow<'static, str>,
    pub question: Cow<'static, str>,
    pub effort: Effort,
    pub seed: u64,
    /// Each a process begun anew, with all its memory.
    #[serde(default = "one_start")]
    pub starts: u64,
    /// Starts in which others used more than 5% of a CPU.
    #[serde(default)]
    pub contended: u64,
    pub rounds: u64,
    pub seconds: f64,
    pub interrupted: bool,
    pub cells: Vec<CellResult>,
    pub warnings: Vec<Warning>,
}
