//! From kept blocks to a verdict. Pure: the same blocks give the same result on any machine.

mod counted;
mod details;
mod proof;
pub mod result;
mod scaling;
mod score;
mod spread;
mod tier;

use hopcost_core::{
    BlockRecord, Code, Comparison, Details, Experiment, ExperimentResult, Headline, Histogram,
    Known, Phase, Proved, Reason, Trial, Unit, Verdict, Window,
};
use hopcost_stats::{Looks, Standing, consistent_with_zero, cost};

use self::result::ResultOf;
use crate::plan::{Plan, Point};
use crate::schedule::{Pace, Schedule, contrast};

pub use spread::LEAST_CALLS_FOR_SPREAD;

/// What is known of a run beside its blocks. Kept with it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Circumstances {
    /// The target's URL.
    pub target: String,
    /// The database, with its version.
    pub identity: String,
    /// How it carries its statements out, before the first block.
    pub plans: Vec<String>,
    /// The same after the last one.
    pub plans_after: Vec<String>,
    /// Nanoseconds of a call that are our own.
    pub harness_ns_per_call: f64,
    /// Does the database share our process and its CPUs?
    pub in_process: bool,
    /// Was distance planted?
    pub emulated: bool,
    /// Calls that make one whole query.
    pub calls_per_query: u64,
    /// What else the reader should know.
    pub notes: Vec<String>,
    /// Wall time, preparation included.
    pub seconds: f64,
}

/// What a run was: all that a verdict follows from.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its comparison.
    pub comparison: &'a Comparison,
    /// What was measured where.
    pub plan: &'a Plan,
    /// How long everything took, and what it was to reach.
    pub pace: &'a Pace,
    /// The blocks.
    pub blocks: &'a [BlockRecord],
    /// What else is known.
    pub circumstances: &'a Circumstances,
}

/// A run with more wrong answers than this measured something else.
const TOLERABLE_ERRORS: f64 = 0.001;
/// In our own process, our share of a call must be smaller.
const TOLERABLE_HARNESS: f64 = 0.05;
/// By Little's law streams = throughput × response time, within this.
const LITTLE_WITHIN: f64 = 0.02;
/// It is only asked where a window holds so many calls one after the other.
const LITTLE_CALLS: f64 = 20.0;

/// The verdict.
pub fn conclude(case: &Case<'_>) -> ExperimentResult {
    if case.comparison.is_score() {
        return score::conclude(case);
    }
    let schedule = Schedule::new(case.plan, case.pace, case.comparison.find_worst);
    let reported = schedule.reported(case.blocks);
    let proof = case.proof();
    let findings: Vec<Finding> =
        reported.iter().map(|point| case.find(&schedule, *point, reported.len())).collect();
    // Of several, the clearest: the one whose interval is farthest from no difference.
    let clearest = findings.iter().max_by(|a, b| a.clarity().total_cmp(&b.clarity()));
    let objection = case
        .objection(&proof)
        .or_else(|| findings.iter().find_map(|finding| finding.outcome.as_ref().err().cloned()));
    let (verdict, reason) = match (objection, clearest) {
        (Some(reason), _) => (Verdict::Refused, reason),
        (None, Some(Finding { outcome: Ok(verdict), reason, .. })) => (*verdict, reason.clone()),
        (None, _) => (Verdict::Inconclusive, Code::NotMeasured.because("there are no blocks")),
    };
    let estimate = match clearest
        .and_then(|finding| finding.standing.as_ref().map(|s| (finding, s)))
    {
        Some((finding, standing)) => Known::Is(Headline {
            of: format!("cost of {}", case.name(finding.point)),
            unit: Unit::Fraction,
            estimate: standing.cost,
        }),
        None => Known::Missing(
            clearest.map_or(Code::NotMeasured.because("there are no blocks"), |f| f.reason.clone()),
        ),
    };
    let planted = case.planted(&reported);
    case.result(
        Ended { verdict, reason, estimate, proof, planted },
        case.details(&schedule, &findings),
    )
}

/// How a run ended.
struct Ended {
    verdict: Verdict,
    reason: Reason,
    estimate: Known<Headline>,
    proof: Vec<Proved>,
    planted: Option<f64>,
}

/// What was found of one point.
struct Finding {
    point: Point,
    /// How many units of blocks it rests on.
    units: usize,
    standing: Option<Standing>,
    outcome: Result<Verdict, Reason>,
    reason: Reason,
}

impl Finding {
    fn clarity(&self) -> f64 {
        let cost = self.standing.as_ref().map(|standing| standing.cost);
        cost.map_or(f64::NEG_INFINITY, |cost| cost.low.max(-cost.high))
    }
}

impl Case<'_> {
    fn result(&self, ended: Ended, details: Details) -> ExperimentResult {
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

    fn name(&self, point: Point) -> String {
        let level = &self.plan.levels[point.level];
        let streams = if point.streams == 1 { "stream" } else { "streams" };
        format!("{level} over {} at {} {streams}", self.plan.levels[0], point.streams)
    }

    /// A point's verdict, or why there can be none.
    fn find(&self, schedule: &Schedule<'_>, point: Point, comparisons: usize) -> Finding {
        let contrasts = schedule.contrasts(self.blocks, Phase::Fresh, point);
        let goal = self.pace.goal(comparisons);
        let Some((n, standing)) = goal.last_look(&contrasts) else {
            let reason = self.too_few(point, contrasts.len());
            let is_disturbed = reason.code() == Code::OthersAtWork;
            let verdict = if is_disturbed { Verdict::Disturbed } else { Verdict::Inconclusive };
            return Finding { point, units: 0, standing: None, outcome: Ok(verdict), reason };
        };
        let outcome = goal.judge(&contrasts[..n], &standing);
        let reason = match &outcome {
            Ok(verdict) => self.reason(*verdict, &standing, n),
            Err(reason) => reason.clone(),
        };
        Finding { point, units: n, standing: Some(standing), outcome, reason }
    }

    /// Why there is no verdict where not even a first look was had.
    fn too_few(&self, point: Point, units: usize) -> Reason {
        let had =
            format!("{units} of the {} units of blocks that a first look needs", Looks::FIRST);
        let of_point = self.blocks.iter().filter(|block| {
            let Trial { phase, streams, level, .. } = block.trial;
            phase == Phase::Fresh && (streams, level) == (point.streams, point.level)
        });
        let needed = Looks::FIRST * self.plan.bindings.len();
        // Without what others took there had been enough.
        if self.pace.budget_s.is_none() || of_point.count() >= needed {
            let advice = "run it again when others leave this machine in peace";
            return Code::OthersAtWork.because(format!("{had} were not disturbed: {advice}"));
        }
        if units == 0 {
            return Code::TooFewBlocks
                .because(format!("{had} fitted into the budget: give it more with --budget"));
        }
        let budget = self.budget_for(Looks::FIRST, units);
        Code::TooFewBlocks
            .because(format!("{had} fitted into the budget, and all would into --budget {budget}"))
    }

    /// The budget into which so many units of blocks fit, where so many took the whole run, in minutes.
    fn budget_for(&self, needed: usize, units: usize) -> String {
        let minutes = self.circumstances.seconds / 60.0 * needed as f64 / units.max(1) as f64;
        format!("{:.0}m", minutes.ceil().max(1.0))
    }

    fn reason(&self, verdict: Verdict, standing: &Standing, units: usize) -> Reason {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let cost = &standing.cost;
        let material = cost.low > self.pace.margin || cost.high < -self.pace.margin;
        match verdict {
            Verdict::Cost | Verdict::Gain if material => Code::Concluded
                .because(format!("the interval lies beyond ±{}", percent(self.pace.margin))),
            Verdict::Cost | Verdict::Gain => Code::Concluded.because("the interval excludes zero"),
            Verdict::Equivalent => Code::Concluded
                .because(format!("any difference is smaller than {}", percent(self.pace.margin))),
            _ => {
                let needed = standing.blocks_needed.max(units + 1);
                Code::IntervalTooWide.because(format!(
                    "the interval holds zero and more than ±{}; some {needed} units of blocks would \
                     decide, instead of {units}: --budget {}",
                    percent(self.pace.margin),
                    self.budget_for(needed, units)
                ))
            }
        }
    }

    /// Why nothing that was found counts, if that is so.
    fn objection(&self, proof: &[Proved]) -> Option<Reason> {
        let misplaced = self.blocks.iter().find_map(|block| block.objection().cloned());
        misplaced
            .or_else(|| self.wrong_answers())
            .or_else(|| self.unproved(proof))
            .or_else(|| self.changed_plans())
            .or_else(|| self.harness_in_the_way())
            .or_else(|| self.little_disagrees())
            .or_else(|| self.placebo_works())
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.blocks.iter().flat_map(|block| &block.windows)
    }

    fn wrong_answers(&self) -> Option<Reason> {
        let errors: u64 = self.windows().map(|window| window.errors).sum();
        let calls: u64 = self.windows().map(|window| window.calls).sum();
        let first = self.windows().find_map(|window| window.first_error.as_deref());
        (errors as f64 > TOLERABLE_ERRORS * calls as f64).then(|| {
            let first = first.unwrap_or("no words");
            Code::WrongAnswers.because(format!(
                "{errors} of {calls} calls failed or came back wrong, the first: {first}"
            ))
        })
    }

    fn changed_plans(&self) -> Option<Reason> {
        let Circumstances { plans, plans_after, .. } = self.circumstances;
        (!plans_after.is_empty() && plans != plans_after).then(|| {
            Code::PlanChanged
                .because("the database changed the way in which it carries a statement out")
        })
    }

    fn harness_in_the_way(&self) -> Option<Reason> {
        let latency = self.all_latency();
        let (mean_ns, _) = latency.mean_and_deviation_ns()?;
        let own = self.circumstances.harness_ns_per_call;
        (self.circumstances.in_process && own > TOLERABLE_HARNESS * mean_ns).then(|| {
            Code::OverheadTooHigh.because(format!(
                "{own:.0} ns of each call of {mean_ns:.0} ns are the harness's own"
            ))
        })
    }

    fn all_latency(&self) -> Histogram {
        let mut latency = Histogram::default();
        for window in self.windows() {
            latency.add(&window.latency);
        }
        latency
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
                "calls × response time gives {:.1} % of the time that the streams had (Little's law): calls \
                 went missing, or time did",
                100.0 * ratio
            ))
        })
    }

    fn placebo_works(&self) -> Option<Reason> {
        let contrasts = self.placebo();
        (!consistent_with_zero(&contrasts)).then(|| {
            let mean = contrasts.iter().sum::<f64>() / contrasts.len() as f64;
            Code::SelfCheckFailed.because(format!(
                "the baseline costs {:+.1} % over itself, in {} blocks: this machine or this harness \
                 favours an arm",
                100.0 * cost(mean),
                contrasts.len()
            ))
        })
    }

    fn placebo(&self) -> Vec<f64> {
        let of_phase = |block: &&BlockRecord| block.trial.phase == Phase::Placebo;
        self.blocks.iter().filter(of_phase).filter_map(contrast).collect()
    }

    /// The windows of a level's own crew.
    fn windows_of(
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
