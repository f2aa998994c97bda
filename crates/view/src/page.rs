//! What a page is made of: everything borrowed, nothing measured, nothing looked up.
//!
//! Whoever has results (a store, a survey that just ended) fills a [`Page`]; [`crate::FORMATS`] show it.

use std::path::Path;

use hopcost_core::{
    BlockRecord, ExperimentResult, Finding, Known, Machine, NodeId, PointCost, ProbeReport,
    Published,
};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub origin: Origin<'a>,
    /// In a few words: `hopcost survey`, `remote-memory`.
    pub title: String,
    pub host: Known<String>,
    /// The machine as it is, without emulated nodes.
    pub machine: Known<&'a Machine>,
    /// The experiments, in the order in which they ran.
    pub sections: Vec<Section<'a>>,
    pub probes: Vec<Probed<'a>>,
    /// What the doctor saw before anything was measured.
    pub findings: Known<&'a [Finding]>,
    pub not_tested: Vec<NotTested>,
    pub interrupted: bool,
    /// What was changed on this host, a line each that says how it was put back.
    pub changed: Vec<String>,
    pub begun_unix_s: i64,
    pub seconds: f64,
    pub version: String,
}

/// What was done to have it.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Run,
    /// A run that did not come to its end; why, where it did not just stop.
    Unfinished {
        failure: Option<&'a str>,
    },
    /// A survey, and the file that its page is written to.
    Survey {
        page: &'a Path,
    },
}

#[derive(Clone, Debug)]
pub struct Section<'a> {
    pub run: i64,
    /// Its outcome; of a run that did not come to its end, what can be said of it.
    pub result: &'a ExperimentResult,
    pub is_finished: bool,
    /// The names of the levels, the baseline first, by which blocks number them; none of the
    /// hardware alone, or where they are not known.
    pub levels: &'a [String],
    /// The node that each level's workers stand on, by binding and then by level; may be empty.
    pub workers_at: &'a [Vec<Option<NodeId>>],
    /// A cost within this is no difference; none where it is not known.
    pub margin: Option<f64>,
    pub blocks: &'a [BlockRecord],
    pub published: Vec<&'a Published>,
    pub command: String,
}

/// A probe's report, with what others published of it.
#[derive(Clone, Debug)]
pub struct Probed<'a> {
    pub report: &'a ProbeReport,
    pub published: Vec<&'a Published>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotTested {
    pub what: String,
    pub why: String,
    /// How many seconds it would take, where that is known.
    pub takes_s: Option<f64>,
}

impl Section<'_> {
    /// The name of a level that blocks know by number.
    pub(crate) fn level(&self, number: usize) -> String {
        self.levels.get(number).cloned().unwrap_or_else(|| match number {
            0 => "baseline".to_owned(),
            n => format!("level {n}"),
        })
    }

    /// The point that the headline is of: the reported one whose interval is farthest from none.
    pub(crate) fn headline_point(&self) -> Option<&PointCost> {
        let points = self.result.details.iter().flat_map(|details| &details.points);
        let clarity = |point: &PointCost| point.cost.low.max(-point.cost.high);
        let reported = points.filter(|point| !point.exploratory);
        reported.max_by(|a, b| clarity(a).total_cmp(&clarity(b)))
    }

    /// All levels that anything is known of, the baseline first.
    pub(crate) fn all_levels(&self) -> Vec<String> {
        let of_blocks = self.blocks.iter().map(|block| block.trial.level).max();
        let of_arms = || {
            let mut names: Vec<String> = Vec::new();
            for arm in self.result.details.iter().flat_map(|details| &details.arms) {
                if !names.contains(&arm.level) {
                    names.push(arm.level.clone());
                }
            }
            names
        };
        match (self.levels.is_empty(), of_blocks) {
            (false, _) => self.levels.to_vec(),
            (true, Some(last)) => (0..=last.max(1)).map(|number| self.level(number)).collect(),
            (true, None) => of_arms(),
        }
    }
}
