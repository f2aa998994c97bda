//! Reasons to refuse a verdict.

use hopcost_core::{Code, Proved, Reason};
use hopcost_stats::{consistent_with_zero, cost};

use super::case::{Case, Circumstances, latency};

const TOLERABLE_ERRORS: f64 = 0.001;
/// For a database in hopcost's process.
const TOLERABLE_HARNESS: f64 = 0.05;
/// Tolerance of Little's law: clients = throughput × response time.
const LITTLE_WITHIN: f64 = 0.02;
/// Little's law is only checked with this many successive calls.
const LITTLE_CALLS: f64 = 20.0;

impl Case<'_> {
    pub(super) fn objection(&self, proof: &[Proved]) -> Option<Reason> {
        let misplaced = self.blocks.iter().find_map(|block| block.objection().cloned());
        misplaced
            .or_else(|| self.wrong_answers())
            .or_else(|| self.unproved(proof))
            .or_else(|| self.changed_plans())
            .or_else(|| self.harness_in_the_way())
            .or_else(|| self.little_disagrees())
            .or_else(|| self.placebo_works())
    }

    fn wrong_answers(&self) -> Option<Reason> {
        let errors: u64 = self.windows().map(|window| window.errors).sum();
        let calls: u64 = self.windows().map(|window| window.calls).sum();
        let first = self.windows().find_map(|window| window.first_error.as_deref());
        (errors as f64 > TOLERABLE_ERRORS * calls as f64).then(|| {
            let first = first.unwrap_or("without a message");
            Code::WrongAnswers.because(format!(
                "{errors} of {calls} calls failed or returned a wrong answer; the first: {first}"
            ))
        })
    }

    fn changed_plans(&self) -> Option<Reason> {
        let Circumstances { plans, plans_after, .. } = self.circumstances;
        (!plans_after.is_empty() && plans != plans_after).then(|| {
            Code::PlanChanged.because("the database changed the plan of a statement during the run")
        })
    }

    fn harness_in_the_way(&self) -> Option<Reason> {
        let (mean_ns, _) = latency(self.windows()).mean_and_deviation_ns()?;
        let own = self.circumstances.harness_ns_per_call;
        (self.circumstances.in_process && own > TOLERABLE_HARNESS * mean_ns).then(|| {
            Code::OverheadTooHigh.because(format!(
                "{:.0}% of each call ({own:.0} of {mean_ns:.0} ns) is hopcost's own time",
                100.0 * own / mean_ns
            ))
        })
    }

    fn little_disagrees(&self) -> Option<Reason> {
        if self.comparison.load.open.is_some() {
            return None;
        }
        let think_s = self.comparison.load.think_s;
        let (mut expected, mut found) = (0.0, 0.0);
        for block in self.blocks {
            for window in &block.windows {
                let (mean_ns, _) = window.latency.mean_and_deviation_ns()?;
                let cycle_s = mean_ns / 1e9 + think_s;
                if cycle_s * LITTLE_CALLS < window.seconds {
                    expected += window.streams_s;
                    found += window.calls as f64 * cycle_s;
                }
            }
        }
        let ratio = found / expected;
        (expected > 0.0 && (ratio - 1.0).abs() > LITTLE_WITHIN).then(|| {
            Code::LittlesLaw.because(format!(
                "calls × response time is {:.1}% of the clients' time, and should be all of it (Little's law): \
                 calls or time were lost",
                100.0 * ratio
            ))
        })
    }

    fn placebo_works(&self) -> Option<Reason> {
        let contrasts = self.placebo();
        (!consistent_with_zero(&contrasts)).then(|| {
            let mean = contrasts.iter().sum::<f64>() / contrasts.len() as f64;
            Code::SelfCheckFailed.because(format!(
                "the baseline differs from itself by {:.1}% in {} blocks: this machine or hopcost favors \
                 one variant",
                100.0 * cost(mean).abs(),
                contrasts.len()
            ))
        })
    }
}
