//! The contract between a probe of the hardware and whoever runs it.
//!
//! A [`Probe`] says which [`Cell`]s it could fill on a [`Site`]; opened, it becomes a [`Rig`] with
//! its memory placed and its threads ready, which is asked for samples cell by cell, round after
//! round, in whatever order the runner chooses, and for [`Proof`] before and after.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::code::Code;
use crate::distances::DistanceClass;
use crate::emulation::Planted;
use crate::estimate::{Estimate, Spread, Unit};
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
    /// What is under it, where it is emulated.
    pub planted: Option<Planted<'a>>,
    pub effort: Effort,
    pub cpus: CpuSet,
    pub nodes: NodeSet,
    /// The size of the memory to walk, where the user asked for one.
    pub size_bytes: Option<u64>,
    /// The distance between two visited lines, where the user asked for one.
    pub stride_bytes: Option<u64>,
    /// The pages wanted; none leaves the choice to what the machine has.
    pub pages: Option<PageSize>,
    /// May memory be bound to a node? Where not, it can only be placed by first touch.
    pub may_bind: bool,
    pub log_dir: PathBuf,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Cpu(CpuId),
    Node(NodeId),
    /// All usable cores of a node.
    CoresOf(NodeId),
    Class(DistanceClass),
    /// A number of something, such as parallel chains: an axis for a curve.
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

/// One thing to measure: a place in the matrix of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The variant measured, such as `random, 64 MiB`. Cells of one series form a matrix.
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

/// What spoilt a sample, so that it was dropped (and counted).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// A thread was not on its CPU.
    Moved,
    Preempted,
    Waited,
    /// The hypervisor took CPU time.
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

/// What a rig hands in for one cell in one round.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    samples: Vec<f64>,
    dropped: BTreeMap<Disturbance, u64>,
    counters: BTreeMap<&'static str, u64>,
}

impl Recorder {
    /// Keeps a sample, in the cell's unit, or counts why it is dropped.
    pub fn sample(&mut self, value: f64, quiet: Result<(), Disturbance>) {
        match quiet {
            Ok(()) => self.samples.push(value),
            Err(disturbance) => *self.dropped.entry(disturbance).or_default() += 1,
        }
    }

    /// Adds to a named counter, such as `spins`.
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

/// A hardware probe. A new one is one file in `host`.
pub trait Probe: Sync {
    fn name(&self) -> &'static str;

    fn question(&self) -> &'static str;

    /// Is it among those that run when all are asked for? One whose question is a special one runs when it
    /// is named.
    fn is_for_all(&self) -> bool {
        true
    }

    /// Everything it would measure on this site, with the reason where it cannot.
    fn cells(&self, site: &Site<'_>) -> Vec<Cell>;

    /// Places the memory and readies the threads that the `ready` cells need.
    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError>;

    /// The memory that [`Probe::open`] will place: for each node, the bytes of each region.
    fn memory_needed(&self, _site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        Vec::new()
    }

    /// What the figures say together that no single cell says.
    fn advise(&self, _site: &Site<'_>, _results: &[CellResult]) -> Vec<Warning> {
        Vec::new()
    }
}

pub trait Rig {
    /// One round's samples for the ready cell of this index.
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError>;

    /// Reads every ready cell's placement back from the kernel, in their order.
    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError>;

    /// What the reader should know about how the rig could be built.
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
        /// The median over rounds, with its interval.
        estimate: Estimate,
        /// How the single samples lie.
        spread: Spread,
    },
    Missing(Reason),
    /// There was one, but the placement did not hold, so it does not count.
    Void(Reason),
}

/// As it is stored and printed: the reason's words and its code side by side.
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
    /// Where memory was before the first sample and after the last; missing for unmeasured cells.
    pub proof: Known<[Proof; 2]>,
    pub dropped: BTreeMap<Disturbance, u64>,
    /// What the probe counted beside, such as spins.
    pub counters: BTreeMap<Cow<'static, str>, u64>,
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
    /// Did others leave it without a single figure?
    pub fn is_disturbed(&self) -> bool {
        let is_disturbed = |cell: &CellResult| matches!(&cell.outcome, Outcome::Missing(reason) if reason.code() == Code::OthersAtWork);
        self.cells.iter().any(is_disturbed)
            && self.cells.iter().all(|cell| cell.estimate().is_none())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    pub probe: Cow<'static, str>,
    pub question: Cow<'static, str>,
    pub effort: Effort,
    pub seed: u64,
    /// Rounds completed over all cells.
    pub rounds: u64,
    /// Wall time, preparation included.
    pub seconds: f64,
    /// Was it stopped before its end?
    pub interrupted: bool,
    pub cells: Vec<CellResult>,
    pub warnings: Vec<Warning>,
}
