//! The inputs of a verdict, and intermediate findings.

use hopcost_core::{
    BlockRecord, Comparison, Details, Experiment, ExperimentResult, Headline, Histogram, Known,
    Phase, Proved, Reason, Verdict, Window,
};
use hopcost_stats::Standing;
use serde::{Deserialize, Serialize};

use super::result::ResultOf;
use crate::plan::{Plan, Point};
use crate::schedule::{Pace, contrast};

/// Stored with the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    pub target: String,
    /// Name and version of the database.
    pub identity: String,
    pub plans: Vec<String>,
    pub plans_after: Vec<String>,
    /// Overhead of hopcost itself.
    pub harness_ns_per_call: f64,
    /// Whether the database runs on the workers' CPUs.
    pub in_process: bool,
    pub emulated: bool,
    /// Calls that make one whole query.
    pub calls_per_query: u64,
    pub notes: Vec<String>,
    /// Including preparation.
    pub seconds: f64,
    /// Starts that were measured again, since others used the CPUs.
    #[serde(default)]
    pub measured_again: u64,
    /// The same of starts that were kept.
    #[serde(default)]
    pub contended: u64,
}

/// How many contended starts a run, or a probe, measures again.
pub const MOST_AGAIN: u64 = 4;

impl Circumstances {
    /// Counts a start in which others used the CPUs. Returns whether to measure it again.
    pub fn count_contended(&mut self) -> bool {
        let again = self.measured_again < MOST_AGAIN;
        *(if again { &mut self.measured_again } else { &mut self.contended }) += 1;
        again
    }
}

#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub experiment: &'a Experiment,
    pub comparison: &'a Comparison,
    pub plan: &'a Plan,
    pub pace: &'a Pace,
    pub blocks: &'a [BlockRecord],
    pub circumstances: &'a Circumstances,
}

pub(super) struct Ended {
    pub verdict: Verdict,
    pub reason: Reason,
    pub estimate: Known<Headline>,
    pub proof: Vec<Proved>,
    pub planted: Option<f64>,
}

pub(super) struct Finding {
    pub point: Point,
    /// Complete units at the last look; 0 if there was none.
    pub units: usize,
    pub standing: Option<Standing>,
    pub outcome: Result<Verdict, Reason>,
    pub reason: Reason,
}

impl Case<'_> {
    pub(super) fn result(&self, ended: Ended, details: Details) -> ExperimentResult {
        let circumstances = self.circumstances;
        let emulated = circumstances.emulated;
        let target = Known::Is(circumstances.target.clone());
        let subject = ResultOf::of(self.experiment, target, emulated);
        let mut result = subject.ended(ended.verdict, ended.reason, ended.estimate);
        result.proof = ended.proof;
        result.planted = ended.planted.filter(|_| emulated);
        result.details = Some(details);
        result.seconds = circumstances.seconds;
        result
    }

    pub(super) fn name(&self, point: Point) -> String {
        let [level, baseline] = [point.level, 0].map(|level| &self.plan.levels[level]);
        format!("{level} over {baseline} at {}", point.in_streams())
    }

    pub(super) fn windows(&self) -> impl Iterator<Item = &Window> {
        self.blocks.iter().flat_map(|block| &block.windows)
    }

    pub(super) fn placebo(&self) -> Vec<f64> {
        let of_phase = |block: &&BlockRecord| block.trial.phase == Phase::Placebo;
        self.blocks.iter().filter(of_phase).filter_map(contrast).collect()
    }

    /// All numbers of clients if `None`.
    pub(super) fn windows_of(
        &self,
        level: usize,
        streams: Option<u32>,
    ) -> impl Iterator<Item = (&BlockRecord, &Window)> {
        let is_score = self.comparison.is_score();
        self.blocks.iter().flat_map(move |block| {
            let wanted = streams.is_none_or(|streams| streams == block.trial.streams);
            let of_level = move |window: &&Window| {
                wanted
                    && if window.tested {
                        block.trial.level == level && (level > 0 || is_score)
                    } else {
                        level == 0
                    }
            };
            block.windows.iter().filter(of_level).map(move |window| (block, window))
        })
    }
}

pub(super) fn latency<'w>(windows: impl IntoIterator<Item = &'w Window>) -> Histogram {
    let mut latency = Histogram::default();
    for window in windows {
        latency.add(&window.latency);
    }
    latency
}
