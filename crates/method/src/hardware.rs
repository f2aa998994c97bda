//! Plans and concludes hardware experiments.
//!
//! They compare nothing: the headline is the first series at its farthest distance class.

use std::time::Duration;

use hopcost_core::{
    CellResult, Code, Effort, Experiment, ExperimentResult, Headline, Known, Locality, NodeId,
    Outcome, Probe, ProbeReport, Proved, Reason, Site, Verdict,
};
use serde::{Serialize, Serializer};

use crate::judge::result::ResultOf;
use crate::pace::StartsAsked;

#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Including preparation.
    pub budget: Duration,
    /// An upper bound (a processor was seen to need 1.6 s).
    pub warm_up: Duration,
    /// Measured even if the budget is too short for them.
    pub least_rounds: u64,
}

/// The first number of rounds, or of starts, whose interval reaches 95% (96.9%).
pub const LEAST: u64 = 6;

/// A shorter start mostly places memory.
const LEAST_START: Duration = Duration::from_millis(500);

/// Of a probe. A short budget has one.
pub fn starts(asked: StartsAsked, effort: Effort, budget: Duration) -> u64 {
    match (asked, effort) {
        (StartsAsked::One, _) => 1,
        (StartsAsked::Number(number), _) => number,
        (StartsAsked::Usual, _) if budget < LEAST_START * LEAST as u32 => 1,
        (StartsAsked::Usual, Effort::Quick) => LEAST,
        (StartsAsked::Usual, Effort::Normal) => 8,
        (StartsAsked::Usual, Effort::Full) => 20,
    }
}

impl Timing {
    pub fn of(effort: Effort) -> Self {
        let (budget, warm_up) = match effort {
            Effort::Quick => (6, 500),
            Effort::Normal => (20, 2000),
            Effort::Full => (90, 2000),
        };
        Self {
            budget: Duration::from_secs(budget),
            warm_up: Duration::from_millis(warm_up),
            least_rounds: LEAST,
        }
    }

    /// Of each start. One start of several is one value, for which a round is enough.
    #[must_use]
    pub fn of_each(self, starts: u64) -> Self {
        if starts == 1 {
            return self;
        }
        Self { budget: self.budget.div_f64(starts as f64), least_rounds: 1, ..self }
    }

    pub fn shared(effort: Effort, budget_s: Option<f64>, probes: usize) -> Self {
        let timing = Self::of(effort);
        let share = budget_s.map(|seconds| Duration::from_secs_f64(seconds / probes.max(1) as f64));
        Self { budget: share.unwrap_or(timing.budget), ..timing }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub probe: &'static str,
    pub cells: usize,
    #[serde(serialize_with = "with_codes")]
    pub left_out: Vec<(Reason, usize)>,
    pub seconds: f64,
    pub memory: Vec<(NodeId, u64)>,
}

fn with_codes<S: Serializer>(all: &[(Reason, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_seq(all.iter().map(|(reason, times)| (reason.as_str(), times, reason.code())))
}

/// Without a budget each probe takes its effort's time.
pub fn plan(probes: &[&dyn Probe], site: &Site<'_>, budget_s: Option<f64>) -> Vec<Step> {
    let timing = Timing::shared(site.effort, budget_s, probes.len());
    probes.iter().map(|probe| step(*probe, site, timing)).collect()
}

fn step(probe: &dyn Probe, site: &Site<'_>, timing: Timing) -> Step {
    let cells = probe.cells(site);
    let mut left_out: Vec<(Reason, usize)> = Vec::new();
    for reason in cells.iter().filter_map(|cell| cell.cpus.reason()) {
        match left_out.iter_mut().find(|(known, _)| known == reason) {
            Some((_, times)) => *times += 1,
            None => left_out.push((reason.clone(), 1)),
        }
    }
    let memory = probe.memory_needed(site).into_iter();
    let memory = memory.map(|(node, regions)| (node, regions.iter().sum())).collect();
    Step {
        probe: probe.name(),
        cells: cells.iter().filter(|cell| cell.is_ready()).count(),
        left_out,
        seconds: timing.budget.as_secs_f64(),
        memory,
    }
}

pub fn conclude(
    experiment: &Experiment,
    reports: &[ProbeReport],
    emulated: bool,
) -> ExperimentResult {
    let cells = || reports.iter().flat_map(|report| &report.cells);
    let void = cells().find_map(|cell| match &cell.outcome {
        Outcome::Void(reason) => Some(reason.clone()),
        _ => None,
    });
    let estimate =
        reports.first().map_or(Known::missing(Code::NotMeasured, "no probe ran"), headline);
    let (verdict, reason) = match (void, &estimate) {
        (Some(reason), _) => (Verdict::Refused, reason),
        (None, Known::Is(_)) => {
            (Verdict::Measured, Code::Concluded.because("there is nothing to compare it with"))
        }
        (None, Known::Missing(reason)) if reason.code() == Code::OthersAtWork => {
            (Verdict::Disturbed, reason.clone())
        }
        (None, Known::Missing(reason)) => (Verdict::NotApplicable, reason.clone()),
    };
    let target = Known::missing(Code::NotApplicable, "it looks at the hardware alone");
    let mut result = ResultOf::of(experiment, target, emulated).ended(verdict, reason, estimate);
    result.proof.extend(proof(cells()));
    result.planted = planted(reports).filter(|_| emulated);
    result.seconds = reports.iter().map(|report| report.seconds).sum();
    result
}

/// The injected share of the windows' time; `None` without emulation.
fn planted(reports: &[ProbeReport]) -> Option<f64> {
    let cells = reports.iter().flat_map(|report| &report.cells);
    let counted = |counter: &str| -> f64 {
        cells.clone().filter_map(|result| result.counters.get(counter)).sum::<u64>() as f64
    };
    let (planted, window) = (counted("planted_ns"), counted("window_ns"));
    (window > 0.0).then_some(planted / window)
}

fn headline(report: &ProbeReport) -> Known<Headline> {
    let first = report.cells.first().map(|result| &result.cell.series);
    let measured = report.cells.iter().filter(|result| Some(&result.cell.series) == first);
    let measured =
        measured.filter_map(|result| Some((&result.cell, *result.estimate()?, result.occasion)));
    // By distance and not by figure: the slowest of many equals is a biased choice.
    let measured: Vec<_> = measured.collect();
    let farthest = measured.into_iter().rev().max_by_key(|(cell, ..)| cell.class.get().copied());
    let Some((cell, estimate, occasion)) = farthest else {
        let reasons = report.cells.iter().filter_map(|result| match &result.outcome {
            Outcome::Missing(reason) => Some(reason.clone()),
            _ => None,
        });
        // A reason that may pass takes precedence over what this machine lacks.
        let reason = reasons.min_by_key(|reason| reason.code() != Code::OthersAtWork);
        return Known::Missing(
            reason.unwrap_or_else(|| Code::NotMeasured.because("nothing was measured")),
        );
    };
    let of = format!("{}, {} → {}", cell.series, cell.row, cell.column);
    Known::Is(Headline { of, unit: cell.unit, estimate, occasion })
}

fn proof<'a>(cells: impl Iterator<Item = &'a CellResult>) -> Option<Proved> {
    let localities = cells
        .filter_map(|result| result.proof.get())
        .flatten()
        .filter_map(|proof| proof.memory.get())
        .flatten();
    let found = localities.map(Locality::share_in_place).min_by(f64::total_cmp)?;
    Some(Proved { claim: "pages on the node asked for".into(), least: Locality::REQUIRED, found })
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Subject, Unit};

    use super::*;
    use crate::fixtures::{self, measured};

    fn cell(column: u32, outcome: Outcome) -> CellResult {
        fixtures::cell(Unit::Nanoseconds, 0, column, outcome)
    }

    fn concluded(cells: Vec<CellResult>, emulated: bool) -> ExperimentResult {
        let experiment = fixtures::experiment("x", Subject::Hardware { probes: vec!["p".into()] });
        conclude(&experiment, &[fixtures::report("p", cells)], emulated)
    }

    #[test]
    fn the_farthest_place_makes_the_headline() {
        let cells = [80.0, 140.0, 150.0].map(measured).into_iter().zip(0..);
        let cells = cells.map(|(outcome, column)| cell(column, outcome)).collect();
        let result = concluded(cells, false);
        assert_eq!(result.verdict, Verdict::Measured);
        let headline = result.estimate.get().unwrap();
        assert_eq!(headline.of, "reads, node 0 → node 1");
        assert!((headline.estimate.point - 140.0).abs() < 1e-12);
    }

    #[test]
    fn what_was_planted_is_what_was_counted() {
        let counted = |planted: u64, window: u64| {
            let mut result = cell(0, measured(80.0));
            result.counters = [("planted_ns".into(), planted), ("window_ns".into(), window)].into();
            result
        };
        let cells = vec![counted(20, 100), counted(40, 100), cell(1, measured(90.0))];
        let result = concluded(cells, true);
        assert!(result.emulated && (result.planted.unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(concluded(vec![cell(0, measured(8.0))], true).planted, None);
    }

    #[test]
    fn probes_share_a_budget_evenly_and_have_their_effort_s_without_one() {
        let of = |budget_s, probes| Timing::shared(Effort::Quick, budget_s, probes).budget;
        assert_eq!(of(Some(3.0), 2).as_millis(), 1500);
        assert_eq!(of(None, 2), Timing::of(Effort::Quick).budget);
    }

    #[test]
    fn a_short_budget_has_one_start() {
        let of = |asked, seconds| starts(asked, Effort::Normal, Duration::from_secs(seconds));
        assert_eq!([20, 3, 2].map(|seconds| of(StartsAsked::Usual, seconds)), [8, 8, 1]);
        assert_eq!([StartsAsked::One, StartsAsked::Number(9)].map(|it| of(it, 1)), [1, 9]);
    }

    #[test]
    fn one_void_figure_refuses_the_whole() {
        let cells = vec![
            cell(0, measured(80.0)),
            cell(1, Outcome::Void(Code::NotMeasured.because("moved"))),
        ];
        let result = concluded(cells, false);
        assert_eq!((result.verdict, result.reason.as_str()), (Verdict::Refused, "moved"));
    }

    #[test]
    fn nothing_measured_is_not_applicable_for_its_reason() {
        let cells = vec![cell(0, Outcome::Missing(Code::NotMeasured.because("no memory")))];
        let result = concluded(cells, false);
        assert_eq!((result.verdict, result.reason.as_str()), (Verdict::NotApplicable, "no memory"));
    }
}
