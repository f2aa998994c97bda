//! A score: the throughput of a single variant, with its spread.
//!
//! Method: the only variant is compared with itself, as an A/A check. The score is the highest mean
//! throughput over the client counts, with the interval of the blocks' means; with several starts, of
//! the starts' means.

use std::collections::BTreeMap;

use hopcost_core::{
    BlockRecord, Code, Estimate, ExperimentResult, Headline, Known, Phase, Reason, ScalingLaw,
    Unit, Verdict,
};
use hopcost_stats::{consistent_with_zero, independent, mean_interval, median_interval};

use super::case::{Case, Ended};
use crate::plan::Point;
use crate::schedule::{LEVEL, Schedule, contrasts};

pub(super) fn conclude(case: &Case<'_>) -> ExperimentResult {
    let schedule = Schedule::new(case.plan, case.pace, false);
    let proof = case.proof();
    let scores = case.plan.points.iter().filter_map(|point| Some((*point, case.score(*point)?)));
    let best = scores.max_by(|(_, a), (_, b)| a.point.total_cmp(&b.point));
    let objection = case.objection(&proof).or_else(|| case.differs_from_itself(best?.0));
    let mut details = case.details(&schedule, &[]);
    details.scores = best.map_or_else(Vec::new, |(point, _)| case.scores_of_starts(point));
    let (verdict, reason, estimate) = match (objection, best) {
        (Some(reason), _) => (Verdict::Refused, reason.clone(), Known::Missing(reason)),
        (None, None) => {
            let reason = Code::OthersAtWork.because(
                "no block was undisturbed. Raise --budget, or run it when other work is done",
            );
            (Verdict::Disturbed, reason.clone(), Known::Missing(reason))
        }
        (None, Some((point, estimate))) => {
            let headline = Headline {
                of: format!("calls at {}", point.in_streams()),
                unit: Unit::PerSecond,
                estimate,
                occasion: None,
            };
            let law = details.scaling.first().map(|of| told(&of.law));
            let reason = law.unwrap_or_else(|| case.spread(point, &estimate));
            (Verdict::Measured, reason, Known::Is(headline))
        }
    };
    case.result(Ended { verdict, reason, estimate, proof, planted: None }, details)
}

fn told(law: &Known<ScalingLaw>) -> Reason {
    match law {
        Known::Is(law) => Code::Concluded.because(law.to_string()),
        Known::Missing(reason) => {
            Code::NoFit.because(format!("no scaling model fits, because {reason}"))
        }
    }
}

impl Case<'_> {
    fn rates(&self, point: Point) -> Vec<f64> {
        let mut of_blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (block, window) in self.windows_of(point.level, Some(point.streams)) {
            if block.trial.phase == Phase::Fresh && block.disturbed().is_none() {
                of_blocks.entry(block.trial.number).or_default().push(window.rate);
            }
        }
        let mean = |rates: &Vec<f64>| rates.iter().sum::<f64>() / rates.len() as f64;
        of_blocks.values().map(mean).collect()
    }

    /// The mean of each start, in time; empty with one start.
    pub(super) fn scores_of_starts(&self, point: Point) -> Vec<f64> {
        if self.pace.starts.is_none() {
            return Vec::new();
        }
        let schedule = Schedule::new(self.plan, self.pace, false);
        let of_block = |block: &BlockRecord| {
            let rates: Vec<f64> = block.windows.iter().map(|window| window.rate).collect();
            let is_counted = block.disturbed().is_none() && !rates.is_empty();
            is_counted.then(|| rates.iter().sum::<f64>() / rates.len() as f64)
        };
        let starts = schedule.values_by(of_block, self.blocks, point);
        starts.iter().map(|start| start.contrast).collect()
    }

    pub(super) fn score(&self, point: Point) -> Option<Estimate> {
        let rates = self.rates(point);
        let score = match self.pace.starts {
            None => mean_interval(&independent(&rates))?,
            Some(_) => median_interval(&self.scores_of_starts(point), LEVEL)?,
        };
        Some(Estimate { n: rates.len() as u64, ..score })
    }

    fn spread(&self, point: Point, score: &Estimate) -> Reason {
        let (rates, what) = match self.scores_of_starts(point) {
            none if none.is_empty() => (self.rates(point), "blocks"),
            starts => (starts, "starts"),
        };
        let (low, high) =
            rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), &r| (low.min(r), high.max(r)));
        let [low, high] = [low, high].map(|rate| 100.0 * (rate / score.point - 1.0));
        Code::Concluded.because(format!(
            "the best of {} numbers of clients; its {} {what} are between {low:+.1}% and {high:+.1}%",
            self.plan.points.len(),
            rates.len()
        ))
    }

    /// A difference of equal crews is a fault of the machine or of hopcost.
    fn differs_from_itself(&self, point: Point) -> Option<Reason> {
        let schedule = Schedule::new(self.plan, self.pace, false);
        let contrasts = contrasts(&schedule.values(self.blocks, point));
        (!consistent_with_zero(&contrasts)).then(|| {
            Code::SelfCheckFailed.because(
                "two equal worker pools differ: this machine or hopcost favors one of them",
            )
        })
    }
}
