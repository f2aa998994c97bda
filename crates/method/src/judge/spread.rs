//! The verdict on the spread of response times.
//!
//! Method: the standard deviation of each window's response times in place of its throughput. This
//! doubles the number of comparisons that the interval level accounts for.

use hopcost_core::{
    BlockRecord, Code, Estimate, Histogram, Known, Phase, PointSpread, Reason, Verdict, Window,
};
use hopcost_stats::{Mode, Standing, modes};

use super::case::{Case, Finding};
use crate::plan::Point;
use crate::schedule::{Schedule, contrast_by};

pub const LEAST_CALLS_FOR_SPREAD: u64 = 30;
const STEPS_PER_OCTAVE: f64 = 4.0;

impl Case<'_> {
    pub(super) fn spreads(
        &self,
        schedule: &Schedule<'_>,
        findings: &[Finding],
    ) -> Vec<PointSpread> {
        let asked = findings.iter().filter(|_| self.comparison.spread);
        asked.map(|finding| self.spread_at(schedule, finding.point, findings.len())).collect()
    }

    fn spread_at(&self, schedule: &Schedule<'_>, point: Point, comparisons: usize) -> PointSpread {
        let units = schedule.units_by(narrowness, self.blocks, Phase::Fresh, point);
        let contrasts: Vec<f64> = units.iter().map(|unit| unit.contrast).collect();
        let goal = self.pace.goal(2 * comparisons);
        let (verdict, reason, ratio) = if let Some((n, standing)) = goal.last_look(&contrasts) {
            let (verdict, reason) = match goal.judge(&contrasts[..n], &standing) {
                Ok(verdict) => (verdict, said_of(verdict)),
                Err(reason) => (Verdict::Refused, reason),
            };
            (verdict, reason, Known::Is(ratio(&standing)))
        } else {
            let reason = Code::TooFewBlocks.because(format!(
                "{} of the 8 block sets needed for a verdict have \
                 {LEAST_CALLS_FOR_SPREAD} or more calls in each window",
                contrasts.len()
            ));
            (Verdict::Inconclusive, reason.clone(), Known::Missing(reason))
        };
        let level = self.plan.levels[point.level].clone();
        PointSpread { streams: point.streams, level, verdict, reason, ratio }
    }

    /// In milliseconds; empty unless requested.
    pub(super) fn distribution(&self, latency: &Histogram) -> [Vec<(f64, f64)>; 2] {
        let steps = if self.comparison.spread { steps(latency) } else { Vec::new() };
        let counts: Vec<u64> = steps.iter().map(|(_, count)| *count).collect();
        let mode = |mode: Mode| (ms_of(f64::from(steps[mode.at].0) + 0.5), mode.share);
        let modes = modes(&counts).into_iter().map(mode).collect();
        let all = latency.count() as f64;
        let share = |(step, count): &(i32, u64)| (ms_of(f64::from(*step)), *count as f64 / all);
        [steps.iter().map(share).collect(), modes]
    }
}

/// The inverse spread, so that more is better, as with throughput.
fn narrowness(block: &BlockRecord) -> Option<f64> {
    let of = |window: &Window| {
        let (_, deviation) = window.latency.mean_and_deviation_ns()?;
        (window.latency.count() >= LEAST_CALLS_FOR_SPREAD).then_some(1.0 / deviation)
    };
    contrast_by(of, block)
}

fn ratio(standing: &Standing) -> Estimate {
    let times = |cost: f64| 1.0 / (1.0 - cost);
    let cost = standing.cost;
    Estimate { point: times(cost.point), low: times(cost.low), high: times(cost.high), ..cost }
}

fn said_of(verdict: Verdict) -> Reason {
    let code = if matches!(verdict, Verdict::Inconclusive) {
        Code::IntervalTooWide
    } else {
        Code::Concluded
    };
    code.because(match verdict {
        Verdict::Cost => "response times vary more",
        Verdict::Gain => "response times vary less",
        Verdict::Equivalent => "any difference in spread is within the margin",
        _ => "the interval of the spread includes no difference and exceeds the margin",
    })
}

fn steps(latency: &Histogram) -> Vec<(i32, u64)> {
    let mut steps: Vec<(i32, u64)> = Vec::new();
    for (ns, count) in latency.buckets() {
        let step = (ns.max(1.0).log2() * STEPS_PER_OCTAVE).floor() as i32;
        let next = steps.last().map_or(step, |(last, _)| last + 1);
        steps.extend((next..=step).map(|step| (step, 0)));
        if let Some((_, sum)) = steps.last_mut() {
            *sum += count;
        }
    }
    steps
}

fn ms_of(step: f64) -> f64 {
    (step / STEPS_PER_OCTAVE).exp2() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_no_gaps_and_lose_no_call() {
        let mut latency = Histogram::default();
        for ns in [1_000, 1_010, 1_900, 16_000] {
            latency.record(ns);
        }
        let steps = steps(&latency);
        assert_eq!(steps.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert!(steps.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
        // 16 times as long is four doublings.
        let (first, last) = (steps[0], steps[steps.len() - 1]);
        assert_eq!((last.0 - first.0, first.1, last.1), (16, 2, 1));
    }
}
