//! The data of a page: borrowed, nothing measured or looked up.
//!
//! A caller with results (from a store or a survey) fills a [`Page`], and [`crate::FORMATS`] show
//! it.

use std::path::Path;

use hopcost_core::{
    BlockRecord, ExperimentResult, Finding, Known, Machine, NodeId, PointCost, ProbeReport,
    Published,
};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub origin: Origin<'a>,
    /// For example `hopcost survey` or `remote-memory`.
    pub title: String,
    pub host: Known<String>,
    /// The real machine, without emulated nodes.
    pub machine: Known<&'a Machine>,
    pub sections: Vec<Section<'a>>,
    pub probes: Vec<Probed<'a>>,
    pub findings: Known<&'a [Finding]>,
    pub not_tested: Vec<NotTested>,
    pub interrupted: bool,
    /// A line per change that also says how it was restored.
    pub changed: Vec<String>,
    pub begun_unix_s: i64,
    pub seconds: f64,
    pub version: String,
}

#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Run,
    /// `failure` is `None` if it was only interrupted.
    Unfinished {
        failure: Option<&'a str>,
    },
    Survey {
        page: &'a Path,
    },
}

#[derive(Clone, Debug)]
pub struct Section<'a> {
    pub run: i64,
    /// Of an unfinished run, without a verdict.
    pub result: &'a ExperimentResult,
    pub is_finished: bool,
    /// Names of the variants by their number in blocks, the baseline first. Empty for hardware
    /// experiments or if unknown.
    pub levels: &'a [String],
    /// Workers' node by binding, then by variant; may be empty.
    pub workers_at: &'a [Vec<Option<NodeId>>],
    /// A cost within it is no difference.
    pub margin: Option<f64>,
    pub blocks: &'a [BlockRecord],
    pub published: Vec<&'a Published>,
    pub command: String,
}

#[derive(Clone, Debug)]
pub struct Probed<'a> {
    pub report: &'a ProbeReport,
    pub published: Vec<&'a Published>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotTested {
    pub what: String,
    pub why: String,
    pub takes_s: Option<f64>,
}

impl Section<'_> {
    pub(crate) fn level(&self, number: usize) -> String {
        self.levels.get(number).cloned().unwrap_or_else(|| match number {
            0 => "baseline".to_owned(),
            n => format!("level {n}"),
        })
    }

    /// The reported point whose interval is farthest from zero.
    pub(crate) fn headline_point(&self) -> Option<&PointCost> {
        let points = self.result.details.iter().flat_map(|details| &details.points);
        let clarity = |point: &PointCost| point.cost.low.max(-point.cost.high);
        let reported = points.filter(|point| !point.exploratory);
        reported.max_by(|a, b| clarity(a).total_cmp(&clarity(b)))
    }

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
