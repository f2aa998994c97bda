//! An experiment: a question that a machine can answer.

use serde::{Deserialize, Serialize};

use crate::distances::DistanceClass;
use crate::metric::Metric;
use crate::probe::Effort;
use crate::variant::{CopyChoice, SessionChoice};
use crate::verdict::Verdict;

/// One experiment, as its file states it: names are known ones, but nothing is bound to a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    pub name: String,
    pub question: String,
    pub subject: Subject,
    /// Published figures to show beside it, by name.
    pub beside: Vec<String>,
    /// Its place in a survey, the lowest first; none leaves it out.
    pub survey: Option<u32>,
    #[serde(flatten)]
    pub words: Words,
    /// What to do about a result, the first rule that fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<AdviceRule>,
}

/// What people call an experiment and its figure. Words are no part of what is asked: stored runs are found without them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// For this verdict; for any, if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// For a headline about this level; about any, if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// For differences beyond this.
    pub beyond: Beyond,
    /// By name, the best first.
    pub recipes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<Unless>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The margin within which a difference does not matter.
    #[default]
    Margin,
    /// Chance alone.
    Zero,
    /// So many times as much.
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
    /// The hardware alone, by these probes. There is no second arm: it ends measured.
    Hardware { probes: Vec<String> },
    /// A database under load, compared between the levels of a factor.
    Database(Comparison),
}

/// A database under load at two or more levels, or at one where nothing but a score is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The kind of database, where the file names one.
    pub target: Option<String>,
    pub dataset: String,
    /// Rows of the data's main table.
    pub scale: Scale,
    pub workload: String,
    pub factor: String,
    /// Its levels; the first is the baseline.
    pub levels: Vec<Level>,
    /// Concurrent streams, each swept.
    pub streams: Vec<u32>,
    pub load: Load,
    pub response: Response,
    /// Is the worst of the sweep looked for, or every point of it reported?
    pub find_worst: bool,
    /// Is asked, too, how far the response times lie apart?
    pub spread: bool,
    /// Is asked how throughput grows with the streams, level by level?
    pub find_scaling: bool,
    pub claims: Vec<Claim>,
}

impl Comparison {
    /// Is there nothing to compare? Then how much the database does is the answer.
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
    /// Seconds to a minute on two cores, and still larger than a last-level cache.
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

/// One level of a factor: where things stand. What it does not name stands anywhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    pub name: String,
    /// What people call it. It is no part of what is asked.
    #[serde(skip)]
    pub label: Option<String>,
    pub data: Option<Spot>,
    #[serde(flatten, serialize_with = "CopyChoice::with_all_keys")]
    pub copy: CopyChoice,
    /// The threads that work on requests.
    pub workers: Option<Spot>,
    pub log_writer: Option<Spot>,
    /// The threads that send requests, of a database that is another process.
    pub client: Option<Spot>,
    /// How many processes of the database work on one query.
    pub dop: Option<u32>,
    /// The process that starts parallel workers.
    pub postmaster: Option<Spot>,
    /// Where parallel workers are pinned to once they run.
    pub parallel_workers: Option<Spot>,
    #[serde(flatten, serialize_with = "SessionChoice::with_all_keys")]
    pub session: SessionChoice,
    /// May both threads of a core work? Else one of each; whatever there is where none says it.
    pub siblings: Option<bool>,
    /// How far apart the workers stand: half of them in one place, and half of them so far away.
    pub apart: Option<DistanceClass>,
    /// The share of the cores that the workers get, 0 to 1; all without it.
    pub cores: Option<f64>,
    /// How many CPUs the workers get; as many as all levels can have where none says it.
    pub cpus: Option<u32>,
    /// What the database is asked, where that is what varies.
    pub workload: Option<String>,
}

/// A place by symbol: bound to a real one by the planner, once per way of binding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spot {
    /// One of the experiment's nodes: `A`, `B`, … are different nodes.
    Node(char),
    /// That far from where the level's workers stand.
    Away(DistanceClass),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Seconds that a stream waits after each answer.
    pub think_s: f64,
    /// Calls that begin whatever became of the last one; none where each waits for the last.
    pub open: Option<Open>,
    /// Seconds over which the streams begin, one after the other, before anything counts.
    pub ramp_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Calls a second, over all streams.
    pub calls_per_s: f64,
    /// Do they come at random, as from many independent users, or evenly?
    pub at_random: bool,
}

/// What counts as the result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Whole queries, or their slices counted as parts of one.
    QueriesPerHour,
    /// Calls, transactions, batch requests.
    CallsPerSecond,
}

/// Something that has to be read back from the machine: `share` of `metric` at least, while the
/// factor stands at `level`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is counted, such as `remote_lookups`.
    pub metric: Metric,
    /// The least share of it, 0 to 1.
    pub least: f64,
    pub level: String,
}
