//! From blocks to a verdict.

use hopcost_core::{Code, ExperimentResult, Headline, Known, Phase, Reason, Unit, Verdict};
use hopcost_stats::{Looks, Standing};

use super::case::{Case, Ended, Finding};
use super::score;
use crate::plan::Point;
use crate::schedule::{LEAST_STARTS, Schedule, Starts, contrasts};

pub fn conclude(case: &Case<'_>) -> ExperimentResult {
    if case.comparison.is_score() {
        return score::conclude(case);
    }
    let schedule = Schedule::new(case.plan, case.pace, case.comparison.find_worst);
    let reported = schedule.reported(case.blocks);
    let proof = case.proof();
    let findings: Vec<Finding> =
        reported.iter().map(|point| case.find(&schedule, *point, reported.len())).collect();
    let clearest = findings.iter().max_by(|a, b| a.clarity().total_cmp(&b.clarity()));
    let objection = case
        .objection(&proof)
        .or_else(|| findings.iter().find_map(|finding| finding.outcome.as_ref().err().cloned()));
    let (verdict, reason) = match (objection, clearest) {
        (Some(reason), _) => (Verdict::Refused, reason),
        (None, Some(Finding { outcome: Ok(verdict), reason, .. })) => (*verdict, reason.clone()),
        (None, _) => (Verdict::Inconclusive, Code::NotMeasured.because("there are no blocks")),
    };
    let estimate = match clearest {
        Some(Finding { point, standing: Some(standing), .. }) => Known::Is(Headline {
            of: format!("cost of {}", case.name(*point)),
            unit: Unit::Fraction,
            estimate: standing.cost,
            occasion: None,
        }),
        Some(finding) => Known::Missing(finding.reason.clone()),
        None => Known::missing(Code::NotMeasured, "there are no blocks"),
    };
    let planted = case.planted(&reported);
    case.result(
        Ended { verdict, reason, estimate, proof, planted },
        case.details(&schedule, &findings),
    )
}

impl Finding {
    fn clarity(&self) -> f64 {
        let cost = self.standing.as_ref().map(|standing| standing.cost);
        cost.map_or(f64::NEG_INFINITY, |cost| cost.low.max(-cost.high))
    }
}

impl Case<'_> {
    fn find(&self, schedule: &Schedule<'_>, point: Point, comparisons: usize) -> Finding {
        let contrasts = contrasts(&schedule.values(self.blocks, point));
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

    fn too_few(&self, point: Point, units: usize) -> Reason {
        if let Some(Starts { number, .. }) = self.pace.starts {
            return Code::OthersAtWork.because(format!(
                "{units} of the {number} starts were undisturbed, and fewer than {LEAST_STARTS} give no verdict. \
                 Run it again when other work on this machine is done"
            ));
        }
        let had = format!("{units} of the {} block sets needed for a verdict", Looks::FIRST);
        let of_point = self.blocks.iter().map(|block| &block.trial);
        let of_point = of_point.filter(|it| it.phase == Phase::Fresh && Point::of(it) == point);
        let needed = Looks::FIRST * self.plan.bindings.len();
        if self.pace.budget_s.is_none() || of_point.count() >= needed {
            let advice = "Run it again when other work on this machine is done";
            return Code::OthersAtWork.because(format!("{had} were undisturbed. {advice}"));
        }
        if units == 0 {
            return Code::TooFewBlocks
                .because(format!("{had} fit into the budget. Raise it with --budget"));
        }
        let budget = self.budget_for(Looks::FIRST, units);
        Code::TooFewBlocks
            .because(format!("{had} fit into the budget. All fit into --budget {budget}"))
    }

    fn budget_for(&self, needed: usize, units: usize) -> String {
        let minutes = self.circumstances.seconds / 60.0 * needed as f64 / units.max(1) as f64;
        format!("{:.0}m", minutes.ceil().max(1.0))
    }

    fn reason(&self, verdict: Verdict, standing: &Standing, units: usize) -> Reason {
        let percent = |share: f64| format!("{:.1}%", 100.0 * share);
        let cost = &standing.cost;
        let material = cost.low > self.pace.margin || cost.high < -self.pace.margin;
        match verdict {
            Verdict::Cost | Verdict::Gain if material => Code::Concluded
                .because(format!("the whole interval is beyond ±{}", percent(self.pace.margin))),
            Verdict::Cost | Verdict::Gain => Code::Concluded.because("the interval excludes zero"),
            Verdict::Equivalent => Code::Concluded
                .because(format!("any difference is smaller than {}", percent(self.pace.margin))),
            _ => {
                let needed = standing.blocks_needed.max(units + 1);
                if self.pace.starts.is_some() {
                    return Code::IntervalTooWide.because(format!(
                        "the interval includes zero and exceeds ±{}. About {needed} starts instead of {units} \
                         would decide: --starts {needed}",
                        percent(self.pace.margin)
                    ));
                }
                Code::IntervalTooWide.because(format!(
                    "the interval includes zero and exceeds ±{}. About {needed} block sets instead of \
                     {units} would decide: --budget {}",
                    percent(self.pace.margin),
                    self.budget_for(needed, units)
                ))
            }
        }
    }
}
