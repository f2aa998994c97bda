//! Experiments as their files state them.

use serde::{Deserialize, Serialize};

use crate::distances::DistanceClass;
use crate::metric::Metric;
use crate::probe::Effort;
use crate::variant::{CopyChoice, SessionChoice};
use crate::verdict::Verdict;

/// Names are resolved, but nothing is bound to a machine yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    pub name: String,
    pub question: String,
    pub subject: Subject,
    pub beside: Vec<String>,
    /// Position in a survey, lowest first; `None` leaves it out.
    pub survey: Option<u32>,
    #[serde(flatten)]
    pub words: Words,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<AdviceRule>,
}

/// Display text. Not part of an experiment's identity: stored runs are found without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    pub beyond: Beyond,
    pub recipes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<Unless>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The margin below which a difference does not matter.
    #[default]
    Margin,
    Zero,
    Factor(f64),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unless {
    pub recipe: String,
    pub says: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The hardware alone. Nothing is compared, so the verdict is MEASURED.
    Hardware { probes: Vec<String> },
    /// A database under load, compared between variants.
    Database(Comparison),
}

/// Two or more variants, or one if only a score is wanted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub target: Option<String>,
    pub dataset: String,
    pub scale: Scale,
    pub workload: String,
    pub factor: String,
    /// The first is the baseline.
    pub levels: Vec<Level>,
    pub streams: Vec<u32>,
    pub load: Load,
    pub response: Response,
    /// Search for the worst point of the sweep instead of reporting every point.
    pub find_worst: bool,
    pub spread: bool,
    pub find_scaling: bool,
    pub claims: Vec<Claim>,
}

impl Comparison {
    pub fn is_score(&self) -> bool {
        self.levels.len() == 1
    }

    pub fn workload_of<'a>(&'a self, level: &'a Level) -> &'a str {
        level.workload.as_deref().unwrap_or(&self.workload)
    }
}

/// Rows of a data set's main table, by effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Scale {
    /// Takes seconds to a minute on two cores, but exceeds a last-level cache.
    pub quick: u64,
    /// The scale at which the experiment was published.
    pub full: u64,
}

impl Scale {
    pub const fn rows(self, effort: Effort) -> u64 {
        match effort {
            Effort::Quick | Effort::Normal => self.quick,
            Effort::Full => self.full,
        }
    }
}

/// A variant: one setting of the varied factor. What it does not name may be anywhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    pub name: String,
    /// Display name; not part of the identity.
    #[serde(skip)]
    pub label: Option<String>,
    pub data: Option<Spot>,
    #[serde(flatten, serialize_with = "CopyChoice::with_all_keys")]
    pub copy: CopyChoice,
    pub workers: Option<Spot>,
    pub log_writer: Option<Spot>,
    pub client: Option<Spot>,
    pub dop: Option<u32>,
    pub postmaster: Option<Spot>,
    /// Parallel workers are pinned here once they run.
    pub parallel_workers: Option<Spot>,
    #[serde(flatten, serialize_with = "SessionChoice::with_all_keys")]
    pub session: SessionChoice,
    /// Whether both threads of a core may be used; `None` leaves it open.
    pub siblings: Option<bool>,
    /// Half of the workers in one place, and half this far away.
    pub apart: Option<DistanceClass>,
    /// Share of the cores that the workers get, 0 to 1; `None` is all.
    pub cores: Option<f64>,
    /// CPUs of the workers; if no variant names it, as many as all variants can have.
    pub cpus: Option<u32>,
    pub workload: Option<String>,
}

/// A symbolic place, bound to a real one by the planner for each binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spot {
    /// One of the experiment's nodes: `A`, `B`, … are different nodes.
    Node(char),
    Away(DistanceClass),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub think_s: f64,
    /// Open loop; `None` is a closed loop, in which each call waits for the last answer.
    pub open: Option<Open>,
    /// Seconds over which clients start one after the other, before anything counts.
    pub ramp_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    pub calls_per_s: f64,
    /// At random, as from many independent users; otherwise evenly spaced.
    pub at_random: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Whole queries; slices count as parts of one.
    QueriesPerHour,
    /// Calls, transactions or batch requests.
    CallsPerSecond,
}

/// Minimum share of `metric` that must be read back from the machine for variant `level`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    pub metric: Metric,
    pub least: f64,
    pub level: String,
}
