//! What an experiment found, in the form in which it is kept and printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::against::Against;
use crate::estimate::{Estimate, Unit};
use crate::known::{Known, Reason};
use crate::metric::Metric;
use crate::observer::Observation;
use crate::probe::Disturbance;
use crate::proof::ProofMethod;
use crate::scaling::ScalingLaw;
use crate::verdict::Verdict;

/// An experiment's outcome. docs/JSON.md documents its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Version of this form; grows when a key changes its meaning or goes.
    pub version: u32,
    pub experiment: String,
    pub question: String,
    pub target: Known<String>,
    pub verdict: Verdict,
    #[serde(flatten)]
    pub reason: Reason,
    pub estimate: Known<Headline>,
    pub proof: Vec<Proved>,
    /// Was any distance planted? Then this checks the method, and says nothing of the machine.
    pub emulated: bool,
    /// What the planted distance really took, as a share; null where none was.
    pub planted: Option<f64>,
    /// What a comparison rests on; null of the hardware alone.
    pub details: Option<Details>,
    /// How it stands against its baseline; null where none was asked for.
    #[serde(default)]
    pub against: Option<Against>,
    /// Wall time, preparation included.
    pub seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    pub identity: String,
    /// The nodes that the experiment's letters stood for, one way after the other.
    pub bindings: Vec<String>,
    /// Seconds of a window.
    pub window_s: f64,
    /// Seconds at a window's begin that are not counted.
    pub guard_s: f64,
    pub blocks: BTreeMap<String, u64>,
    /// Blocks dropped, by what disturbed them from outside.
    pub dropped: BTreeMap<Disturbance, u64>,
    pub points: Vec<PointCost>,
    /// How far the response times lie apart, point by point, where that was asked.
    #[serde(default)]
    pub spreads: Vec<PointSpread>,
    /// How throughput grows with the streams, level by level, where that was asked.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    pub arms: Vec<Arm>,
    /// How closely it is known what was near and what was far; null where nothing was placed.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// By what it is known.
    #[serde(default)]
    pub proved_by: Vec<ProvedBy>,
    pub placebo: Option<Estimate>,
    /// Nanoseconds of a call that are our own.
    pub harness_ns_per_call: f64,
    /// How the database carries its statements out.
    pub plans: Vec<String>,
    pub left_out: Vec<String>,
    pub notes: Vec<String>,
}

/// How closely it is known what was near and what was far, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Every look-up was counted, by the node of its page.
    EngineCounters,
    /// Where the pages were that each worker touched, and where it ran; not how often it looked.
    PageResidency,
    /// Where the workers ran; of their memory nothing.
    CpuResidency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// Every page access, counted by the database.
    LookUps,
    /// The pages that each connection touched.
    PagesTouched,
    /// The masks of hopcost's own threads.
    ThreadMasks,
    /// Parallel workers, as a sample found them.
    ParallelWorkerSamples,
    /// Pages, read back in this way.
    #[serde(untagged)]
    Pages(ProofMethod),
    #[serde(untagged)]
    Metric(Metric),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvedBy {
    pub by: Witness,
    /// The share that was in place, the least of all times it was asked; null where it only counts.
    pub found: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointCost {
    pub streams: u32,
    pub level: String,
    /// The cost, a fraction of throughput, with its interval.
    pub cost: Estimate,
    /// Was it only looked at to find the worst? Then the highest of them is too high.
    pub exploratory: bool,
    /// Of a search: could it be the worst one?
    pub may_be_worst: bool,
    /// How it stood at each look; none of a search.
    #[serde(default)]
    pub looks: Vec<CostSoFar>,
}

/// How far response times lie apart at a point, beside the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpread {
    pub streams: u32,
    pub level: String,
    /// COST where they lie farther apart than the baseline's.
    pub verdict: Verdict,
    #[serde(flatten)]
    pub reason: Reason,
    /// The standard deviation, as a multiple of the baseline's.
    pub ratio: Known<Estimate>,
}

/// How the throughput of a level grows with its streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub level: String,
    /// The law that describes it, or why none does.
    pub law: Known<ScalingLaw>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostSoFar {
    /// Seconds from the run's begin, preparation included.
    pub after_s: f64,
    /// The cost, with its interval, which holds at all looks together.
    pub cost: Estimate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    pub level: String,
    pub streams: u32,
    pub windows: u64,
    pub calls: u64,
    /// Calls of them that failed or came back wrong.
    pub errors: u64,
    /// The first of these, in words.
    pub first_error: Option<String>,
    /// What counts, in the experiment's own unit: the mean over windows.
    pub response: f64,
    /// Milliseconds of a call: mean, standard deviation, median, 95 % and 99 %.
    pub latency_ms: Option<[f64; 5]>,
    /// The response times' distribution, where their spread was asked for: from so many milliseconds to the
    /// next, this share of the calls.
    #[serde(default)]
    pub times: Vec<(f64, f64)>,
    /// Its modes: milliseconds, and the share of the calls around them.
    #[serde(default)]
    pub modes: Vec<(f64, f64)>,
    /// Page acquisitions from the workers' own node, and from others.
    pub acquisitions: Option<[u64; 2]>,
    /// Different pages on the workers' own node, and on others.
    pub distinct_pages: Option<[u64; 2]>,
    /// Means over its windows of what was observed from the side: metric, of what, value.
    pub observed: Vec<Observation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    pub of: String,
    pub unit: Unit,
    #[serde(flatten)]
    pub estimate: Estimate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    pub claim: String,
    /// The least share that was to be found.
    pub least: f64,
    pub found: f64,
}

impl Proved {
    pub fn holds(&self) -> bool {
        self.found >= self.least
    }
}
