//! The result of an experiment, as stored and printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::against::Against;
use crate::estimate::{Estimate, Occasion, Unit};
use crate::known::{Known, Reason};
use crate::metric::Metric;
use crate::observer::Observation;
use crate::probe::Disturbance;
use crate::proof::ProofMethod;
use crate::scaling::ScalingLaw;
use crate::verdict::Verdict;

/// docs/reference/json.md documents its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    pub version: u32,
    pub experiment: String,
    pub question: String,
    pub target: Known<String>,
    pub verdict: Verdict,
    #[serde(flatten)]
    pub reason: Reason,
    pub estimate: Known<Headline>,
    pub proof: Vec<Proved>,
    /// Whether delays were injected; then this checks the method, not the machine.
    pub emulated: bool,
    /// Share that the injected delays actually took; `None` if there were none.
    pub planted: Option<f64>,
    /// `None` for hardware alone.
    pub details: Option<Details>,
    /// Comparison with a named baseline; `None` if not asked for.
    #[serde(default)]
    pub against: Option<Against>,
    pub seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    pub identity: String,
    pub bindings: Vec<String>,
    pub window_s: f64,
    /// Seconds at the start of a window that are not counted.
    pub guard_s: f64,
    pub blocks: BTreeMap<String, u64>,
    pub dropped: BTreeMap<Disturbance, u64>,
    /// `None` if all is from one start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartsFound>,
    /// A score's throughput in each start, in time; empty if all is from one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f64>,
    /// Starts in which others used more than 5% of a CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contended: u64,
    pub points: Vec<PointCost>,
    #[serde(default)]
    pub spreads: Vec<PointSpread>,
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    pub arms: Vec<Arm>,
    /// `None` if nothing was placed.
    #[serde(default)]
    pub tier: Option<Tier>,
    #[serde(default)]
    pub proved_by: Vec<ProvedBy>,
    pub placebo: Option<Estimate>,
    pub harness_ns_per_call: f64,
    pub plans: Vec<String>,
    pub left_out: Vec<String>,
    pub notes: Vec<String>,
}

/// Why figures are not compared.
pub const NOISY: &str = "others used the CPUs in more than a quarter of its starts";

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Details {
    pub fn number_of_starts(&self) -> u64 {
        self.starts.as_ref().map_or(self.scores.len() as u64, |starts| starts.n).max(1)
    }

    /// As of a probe's report.
    pub fn is_noisy(&self) -> bool {
        4 * self.contended > self.number_of_starts()
    }
}

/// Standard deviations are of logarithms of throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartsFound {
    pub n: u64,
    /// Units of blocks in each.
    pub units: u64,
    /// `None` if starts were not found to differ.
    pub sd_start: Option<f64>,
    /// The smallest that would have been found.
    pub sd_start_seen: f64,
    pub sd_unit: f64,
    /// The effect that 8 in 10 such runs would have found.
    pub sees: f64,
    /// With twice as many starts.
    #[serde(default)]
    pub sees_with_twice: Option<f64>,
    /// One of each start, in time.
    pub costs: Vec<f64>,
    #[serde(default)]
    pub kinds: Option<KindsOfStarts>,
    /// Starts, if the order in time explains what would be two kinds.
    #[serde(default)]
    pub changed_after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindsOfStarts {
    /// Of each start, in time.
    pub slow: Vec<bool>,
    /// Share of throughput that slow starts lose, whatever the variant.
    pub slower: f64,
    /// Among fast starts, and among slow ones.
    pub costs: [Estimate; 2],
}

/// Strength of the evidence for what was near and far, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Every page access was counted by the page's node.
    EngineCounters,
    /// Where the touched pages and the workers were, but not how often pages were accessed.
    PageResidency,
    /// Where the workers ran; nothing about their memory.
    CpuResidency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    LookUps,
    PagesTouched,
    ThreadMasks,
    ParallelWorkerSamples,
    #[serde(untagged)]
    Pages(ProofMethod),
    #[serde(untagged)]
    Metric(Metric),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvedBy {
    pub by: Witness,
    /// Lowest share in place over all checks; `None` if it only counts.
    pub found: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointCost {
    pub streams: u32,
    pub level: String,
    /// As a fraction of throughput.
    pub cost: Estimate,
    /// Only examined to find the worst: the highest of these overstates the cost.
    pub exploratory: bool,
    pub may_be_worst: bool,
    /// The cost at each look; empty for a search.
    #[serde(default)]
    pub looks: Vec<CostSoFar>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpread {
    pub streams: u32,
    pub level: String,
    /// COST if wider than the baseline's.
    pub verdict: Verdict,
    #[serde(flatten)]
    pub reason: Reason,
    /// Standard deviation as a multiple of the baseline's.
    pub ratio: Known<Estimate>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub level: String,
    pub law: Known<ScalingLaw>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostSoFar {
    pub after_s: f64,
    /// Its interval holds at all looks together.
    pub cost: Estimate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    pub level: String,
    pub streams: u32,
    pub windows: u64,
    pub calls: u64,
    /// Failed calls and wrong answers.
    pub errors: u64,
    pub first_error: Option<String>,
    pub response: f64,
    /// Mean, standard deviation, median, 95% and 99%.
    pub latency_ms: Option<[f64; 5]>,
    /// Distribution of response times, if asked for: milliseconds, and the share of calls from
    /// there to the next entry.
    #[serde(default)]
    pub times: Vec<(f64, f64)>,
    /// Milliseconds of each mode, and the share of the calls around it.
    #[serde(default)]
    pub modes: Vec<(f64, f64)>,
    /// On the workers' own node, and on others.
    pub acquisitions: Option<[u64; 2]>,
    /// On the workers' own node, and on others.
    pub distinct_pages: Option<[u64; 2]>,
    pub observed: Vec<Observation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    pub of: String,
    pub unit: Unit,
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Of figures; a cost, measured side by side, needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occasion: Option<Occasion>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    pub claim: String,
    pub least: f64,
    pub found: f64,
}

impl Proved {
    pub fn holds(&self) -> bool {
        self.found >= self.least
    }
}
