//! Pairs the stored results of two machines and judges each pair.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hopcost_core::{
    Between, CellPair, CellResult, Code, Details, EffectPair, ExperimentResult, Headline, Known,
    Lacking, NOISY, Outcome, PointCost, ProbeReport, Reason, ScorePair, Side, SideRun, Unit,
};

use super::kept::{Differing, Kept, KeptRun, TellApart};
use super::likeness::{ERROR, Judge, MARGIN};
use super::{explain, headline, traits};

pub fn compare(a: &Kept<'_>, b: &Kept<'_>, tell_apart: TellApart<'_>) -> Between {
    let between = Between {
        version: 1,
        a: side(a),
        b: side(b),
        emulated: a.is_emulated() && b.is_emulated(),
        found: String::new(),
        explained_by: Vec::new(),
        traits: traits::of(&a.machine, &b.machine),
        cells: Vec::new(),
        scores: Vec::new(),
        effects: Vec::new(),
        missing: Vec::new(),
        notes: Vec::new(),
    };
    let mut comparing = Comparing { tell_apart, judge: Judge::default(), between };
    comparing.probes(a, b);
    let pairs = comparing.pairs_of_runs(a, b);
    for pair in &pairs {
        comparing.score(pair);
    }
    for pair in &pairs {
        comparing.effects(pair);
    }
    let Comparing { judge, mut between, .. } = comparing;
    judge.tell_different(&mut between);
    between.notes.extend(notes(&between));
    between.found = headline::found(&between);
    between.explained_by = explain::explained_by(&between);
    between
}

fn side(kept: &Kept<'_>) -> Side {
    let run = |run: &KeptRun<'_>| SideRun {
        run: run.id,
        experiment: run.experiment.to_owned(),
        begun_s: run.begun_s,
    };
    Side {
        name: kept.name.clone(),
        host: kept.machine.as_ref().and_then(|machine| machine.host.clone()),
        runs: kept.runs.iter().map(run).collect(),
    }
}

struct Comparing<'a> {
    tell_apart: TellApart<'a>,
    judge: Judge,
    between: Between,
}

impl Comparing<'_> {
    fn lacks(&mut self, what: impl Into<String>, words: impl Into<Cow<'static, str>>) {
        self.misses(what, Code::NotMeasured.because(words));
    }

    fn misses(&mut self, what: impl Into<String>, missing: Reason) {
        self.between.missing.push(Lacking { what: what.into(), missing });
    }

    fn differ_in_manner(&self, a: &KeptRun<'_>, b: &KeptRun<'_>) -> Result<Vec<String>, Reason> {
        let Differing { mut question, manner } = (self.tell_apart)(a, b);
        match (a.is_emulated(), b.is_emulated()) {
            (true, false) => question.push("what A is: it is emulated".to_owned()),
            (false, true) => question.push("what B is: it is emulated".to_owned()),
            _ => {}
        }
        if question.is_empty() {
            return Ok(manner);
        }
        let words = format!("the two runs differ in {}", question.join(", "));
        Err(Code::NotComparable.because(words))
    }

    fn probes(&mut self, a: &Kept<'_>, b: &Kept<'_>) {
        let (of_a, of_b) = (latest_reports(a), latest_reports(b));
        for (probe, (run_a, report_a)) in &of_a {
            let Some((run_b, report_b)) = of_b.get(probe) else {
                self.lacks(*probe, "B has no run of it");
                continue;
            };
            let noisy = [("A", report_a), ("B", report_b)].into_iter();
            let noisy = noisy.filter(|(_, report)| report.is_noisy()).map(|(who, _)| who).next();
            if let Some(who) = noisy {
                self.misses(*probe, in_contention(who));
                continue;
            }
            match self.differ_in_manner(run_a, run_b) {
                Ok(manner) => self.cells(report_a, report_b, &manner),
                Err(reason) => self.misses(*probe, reason),
            }
        }
        for probe in of_b.keys().filter(|probe| !of_a.contains_key(*probe)) {
            self.lacks(*probe, "A has no run of it");
        }
    }

    fn cells(&mut self, a: &ProbeReport, b: &ProbeReport, manner: &[String]) {
        let probe = &a.probe;
        if a.effort != b.effort {
            let [of_a, of_b] = [a, b].map(|report| format!("{:?}", report.effort).to_lowercase());
            let note = format!("{probe}: {of_a} effort on A, {of_b} effort on B");
            self.between.notes.push(note);
        }
        if !manner.is_empty() {
            let note = format!("{probe}: the runs also differ in {}", manner.join(", "));
            self.between.notes.push(note);
        }
        let disturbed = [a, b].map(disturbed_share);
        for cell in &a.cells {
            let fellow = b.cells.iter().find(|other| is_same(cell, other));
            self.cell(a, (cell, fellow), disturbed);
        }
        let only_b = b.cells.iter().filter(|cell| cell.estimate().is_some());
        for cell in only_b.filter(|cell| !a.cells.iter().any(|other| is_same(cell, other))) {
            self.lacks(named(probe, cell), "A did not ask for it");
        }
    }

    fn cell(
        &mut self,
        report: &ProbeReport,
        (of_a, of_b): (&CellResult, Option<&CellResult>),
        disturbed: [f64; 2],
    ) {
        let missing = match (of_a.estimate(), of_b.and_then(CellResult::estimate)) {
            (Some(a), Some(b)) => match self.judge.ratio(
                (a, of_a.occasion.as_ref()),
                (b, of_b.and_then(|of_b| of_b.occasion.as_ref())),
                disturbed,
            ) {
                Known::Is((ratio, likeness)) => {
                    let cell = of_a.cell.clone();
                    self.between.cells.push(CellPair {
                        probe: report.probe.clone(),
                        series: cell.series,
                        row: cell.row,
                        column: cell.column,
                        class: cell.class,
                        unit: cell.unit,
                        a: *a,
                        b: *b,
                        ratio,
                        likeness,
                    });
                    return;
                }
                Known::Missing(reason) => reason.to_string(),
            },
            (Some(_), None) => match of_b {
                Some(of_b) => format!("B: {}", why_none(of_b)),
                None => "B did not ask for it".to_owned(),
            },
            (None, Some(_)) => format!("A: {}", why_none(of_a)),
            (None, None) => return,
        };
        self.lacks(named(&report.probe, of_a), missing);
    }

    fn pairs_of_runs<'k>(&mut self, a: &Kept<'k>, b: &Kept<'k>) -> Vec<Pair<'k>> {
        for (has, other, who) in [(a, b, "B"), (b, a, "A")] {
            // Hardware experiments that one machine lacks are reported elsewhere.
            for run in has.runs.iter().filter(|run| run.is_of_database()) {
                if !other.runs.iter().any(|it| it.experiment == run.experiment) {
                    self.lacks(run.experiment, format!("{who} has no run of it"));
                }
            }
        }
        let mut pairs = Vec::new();
        for run_a in &a.runs {
            let fellow = b.runs.iter().find(|run_b| run_b.experiment == run_a.experiment);
            let of_database =
                |run_b: &&KeptRun<'_>| run_a.is_of_database() || run_b.is_of_database();
            let Some(run_b) = fellow.filter(of_database) else { continue };
            match self.pair_of(run_a, run_b) {
                Ok(pair) => pairs.push(pair),
                Err(reason) => self.misses(run_a.experiment, reason),
            }
        }
        pairs
    }

    fn pair_of<'k>(&self, a: &KeptRun<'k>, b: &KeptRun<'k>) -> Result<Pair<'k>, Reason> {
        let result = |run: &KeptRun<'k>, who: &str| match run.result {
            None => {
                Err(Code::NotMeasured.because(format!("{who}: run {} was not finished", run.id)))
            }
            Some(ended) if ended.verdict.is_without_figures() => {
                let words = format!("{who}: {}, {}", ended.verdict, ended.reason);
                Err(ended.reason.code().because(words))
            }
            Some(result) => Ok(result),
        };
        let results = [result(a, "A")?, result(b, "B")?];
        let differ_in = self.differ_in_manner(a, b)?;
        Ok(Pair { experiment: a.experiment, results, differ_in })
    }

    fn score(&mut self, pair: &Pair<'_>) {
        let is_score = |headline: &&Headline| headline.unit != Unit::Fraction;
        let [a, b] = pair.results.map(|result| result.estimate.get().filter(is_score));
        let (a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (None, None) => return,
            (a, _) => {
                let who = if a.is_none() { "A" } else { "B" };
                return self.lacks(pair.experiment, format!("{who} has no score"));
            }
        };
        let is_noisy =
            |result: &ExperimentResult| result.details.as_ref().is_some_and(Details::is_noisy);
        if let Some(n) = pair.results.iter().position(|result| is_noisy(result)) {
            return self.misses(pair.experiment, in_contention(["A", "B"][n]));
        }
        let judged = if a.unit == b.unit {
            let disturbed = pair.results.map(disturbed_blocks);
            let [a, b] = [a, b].map(|score| (&score.estimate, score.occasion.as_ref()));
            self.judge.ratio(a, b, disturbed)
        } else {
            Known::missing(Code::NotComparable, "the scores have other units")
        };
        let (ratio, likeness) = match judged {
            Known::Is(judged) => judged,
            Known::Missing(reason) => return self.misses(pair.experiment, reason),
        };
        let both = format!("A: {}, B: {}", a.of, b.of);
        self.between.scores.push(ScorePair {
            experiment: pair.experiment.to_owned(),
            of: if a.of == b.of { a.of.clone() } else { both },
            unit: a.unit,
            a: a.estimate,
            b: b.estimate,
            ratio,
            likeness,
            differ_in: pair.differ_in.clone(),
        });
    }

    /// Confirmed points only: search points are biased upwards.
    fn effects(&mut self, pair: &Pair<'_>) {
        let [a, b] = pair.results.map(sure_points);
        let is_same = |a: &PointCost, b: &PointCost| (a.streams, &a.level) == (b.streams, &b.level);
        for point in &a {
            let Some(fellow) = b.iter().find(|other| is_same(point, other)) else {
                self.lacks(pair.named(point), "B did not report it");
                continue;
            };
            match self.judge.difference(&point.cost, &fellow.cost) {
                Known::Is((dearer, likeness)) => self.between.effects.push(EffectPair {
                    experiment: pair.experiment.to_owned(),
                    level: point.level.clone(),
                    streams: point.streams,
                    a: point.cost,
                    b: fellow.cost,
                    dearer,
                    likeness,
                    differ_in: pair.differ_in.clone(),
                }),
                Known::Missing(reason) => self.misses(pair.named(point), reason),
            }
        }
        for point in b.iter().filter(|point| !a.iter().any(|other| is_same(point, other))) {
            self.lacks(pair.named(point), "A did not report it");
        }
    }
}

fn latest_reports<'r, 'a>(
    kept: &'r Kept<'a>,
) -> BTreeMap<&'a str, (&'r KeptRun<'a>, &'a ProbeReport)> {
    let mut latest = BTreeMap::new();
    for run in &kept.runs {
        for report in run.reports {
            latest.entry(report.probe.as_ref()).or_insert((run, report));
        }
    }
    latest
}

fn in_contention(who: &str) -> Reason {
    let words = format!("{who}: {NOISY}");
    Code::OthersAtWork.because(words)
}

/// Disturbance also affects the samples that were kept, so its share widens the error.
fn disturbed_share(report: &ProbeReport) -> f64 {
    let dropped: u64 = report.cells.iter().flat_map(|cell| cell.dropped.values()).sum();
    let kept: u64 = report.cells.iter().filter_map(CellResult::estimate).map(|it| it.n).sum();
    dropped as f64 / (kept + dropped).max(1) as f64
}

fn disturbed_blocks(result: &ExperimentResult) -> f64 {
    let Some(details) = &result.details else { return 0.0 };
    let dropped: u64 = details.dropped.values().sum();
    dropped as f64 / details.blocks.values().sum::<u64>().max(1) as f64
}

fn is_same(cell: &CellResult, other: &CellResult) -> bool {
    let [cell, other] =
        [cell, other].map(|CellResult { cell: it, .. }| (&it.series, &it.row, &it.column, it.unit));
    cell == other
}

fn why_none(cell: &CellResult) -> String {
    match &cell.outcome {
        Outcome::Measured { .. } => String::new(),
        Outcome::Missing(reason) => reason.to_string(),
        Outcome::Void(reason) => format!("void, {reason}"),
    }
}

fn named(probe: &str, CellResult { cell, .. }: &CellResult) -> String {
    format!("{probe}, {}, {} → {}", cell.series, cell.row, cell.column)
}

struct Pair<'a> {
    experiment: &'a str,
    results: [&'a ExperimentResult; 2],
    differ_in: Vec<String>,
}

impl Pair<'_> {
    fn named(&self, point: &PointCost) -> String {
        format!("{}, {} at {}", self.experiment, point.level, point.streams)
    }
}

fn sure_points(result: &ExperimentResult) -> Vec<&PointCost> {
    let points = result.details.iter().flat_map(|details| &details.points);
    points.filter(|point| !point.exploratory).collect()
}

fn notes(between: &Between) -> Vec<String> {
    let pairs = between.likenesses().count();
    if pairs == 0 {
        return Vec::new();
    }
    let margin = 100.0 * MARGIN;
    vec![
        format!(
            "different: by more than {margin:.0}%, which chance among {pairs} alike would tell in \
             {:.0}% of comparisons at most; equivalent: the whole interval is within {margin:.0}%",
            100.0 * ERROR
        ),
        "each side is one occasion: how much figures of the same machine differ from one to the next is in \
         the intervals, learned from the store that they come from if it has five, else assumed"
            .to_owned(),
    ]
}
