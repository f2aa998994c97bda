//! The data of a page: borrowed, nothing measured or looked up.
//!
//! A caller with results (from a store or a survey) fills a [`Page`], and [`crate::FORMATS`] show
//! it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hopcost_core::{
    BlockRecord, Details, ExperimentResult, Finding, Headline, Known, Machine, NodeId, PointCost,
    ProbeReport, Published, Response, StartsFound, Unit, Words,
};
use hopcost_method::advice::Advice;
use serde::Serialize;

use crate::words::{Compared, cost_of, figure_of, headline, plural, spoken};

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
    pub words: Option<&'a Words>,
    /// On an engine whose support has never run against the engine itself.
    pub never_verified: bool,
    /// What throughput counts, if the experiment is known.
    pub response: Option<Response>,
    /// The labels of variants by name; a variant without one is shown by its name.
    pub labels: &'a BTreeMap<String, String>,
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
    /// `None` if nothing follows from the result.
    pub advice: Option<Advice>,
    pub reports: &'a [ProbeReport],
    /// What has to be equal for a comparison, without words of the user's. `None` if the run must not
    /// be shared: its experiment does not come with hopcost.
    pub options: Option<String>,
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

/// Smallest relevant difference if an experiment sets none.
const USUAL_MARGIN: f64 = 0.03;

/// What the headline compares, by label.
pub(crate) struct Labels<'a> {
    unit: &'a str,
    baseline: Cow<'a, str>,
    variant: Cow<'a, str>,
}

impl Labels<'_> {
    pub fn as_compared(&self) -> Compared<'_> {
        Compared { unit: self.unit, baseline: &self.baseline, variant: &self.variant }
    }
}

impl Section<'_> {
    pub(crate) fn title(&self) -> String {
        let title = self.words.and_then(|words| words.title.clone());
        title.unwrap_or_else(|| spoken(&self.result.experiment))
    }

    /// A variant in words; its name if the experiment is not known here.
    pub(crate) fn label<'s>(&'s self, name: &'s str) -> &'s str {
        self.labels.get(name).map_or(name, String::as_str)
    }

    /// The headline's figure: `35,004 transactions/s (±516)`.
    pub(crate) fn headline(&self, figure: &Headline) -> String {
        match figure.unit {
            Unit::PerSecond => figure_of(figure, &format!("{}/s", self.unit())),
            _ => headline(figure),
        }
    }

    fn unit(&self) -> &str {
        self.words.and_then(|words| words.unit.as_deref()).unwrap_or("calls")
    }

    /// `commits/s`.
    pub(crate) fn throughput(&self) -> String {
        match self.response {
            Some(Response::QueriesPerHour) => format!("{}/h", self.unit()),
            Some(Response::CallsPerSecond) => format!("{}/s", self.unit()),
            None => "throughput".to_owned(),
        }
    }

    fn label_in_a_sentence(&self, name: &str) -> Cow<'_, str> {
        self.labels.get(name).map_or_else(|| Cow::Owned(format!("“{name}”")), Into::into)
    }

    /// The baseline and the variant of the headline.
    pub(crate) fn compared(&self) -> Labels<'_> {
        let levels = self.all_levels();
        let name = |name: Option<&String>, unknown: &'static str| {
            name.map_or(Cow::Borrowed(unknown), |name| self.label_in_a_sentence(name))
        };
        let point = self.headline_point().map(|point| &point.level);
        Labels {
            unit: self.unit(),
            baseline: name(levels.first(), "the baseline"),
            variant: name(point.or(levels.get(1)), "the variant"),
        }
    }

    /// ` at 2 clients`, if the headline is of one number of several.
    pub(crate) fn at_clients(&self) -> String {
        let points = self.result.details.iter().flat_map(|details| &details.points);
        let swept = points.map(|point| point.streams).collect::<BTreeSet<_>>().len() > 1;
        let point = self.headline_point().filter(|_| swept);
        point.map_or(String::new(), |it| format!(", at {}", plural(it.streams as usize, "client")))
    }

    /// Whether the whole interval lies beyond the margin.
    pub fn is_material(&self) -> bool {
        let beyond = cost_of(self.result).map_or(f64::NEG_INFINITY, |it| it.low.max(-it.high));
        beyond > self.margin_or_usual()
    }

    pub fn margin_or_usual(&self) -> f64 {
        self.margin.unwrap_or(USUAL_MARGIN)
    }

    pub(crate) fn level(&self, number: usize) -> String {
        self.levels.get(number).cloned().unwrap_or_else(|| match number {
            0 => "baseline".to_owned(),
            n => format!("level {n}"),
        })
    }

    /// How many starts it is from.
    pub fn number_of_starts(&self) -> u64 {
        self.result.details.as_ref().map_or(1, Details::number_of_starts)
    }

    /// `None` if all is from one start, or a score.
    pub fn starts(&self) -> Option<&StartsFound> {
        self.result.details.as_ref()?.starts.as_ref()
    }

    /// The reported point whose interval is farthest from zero.
    pub fn headline_point(&self) -> Option<&PointCost> {
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
