//! Two machines side by side, or one on two occasions. Pure: everything follows from kept runs.
//!
//! Method: cells of probes are paired by what was measured, results by their experiment. Figures are compared
//! by their ratio, costs by their difference, each with the errors of both in quadrature
//! (`stats::log_ratio_of`, `difference_of`). A pair is different where the difference is beyond what matters
//! and chance does not explain it among all that was compared (`stats::holm`); it is equivalent where its
//! whole interval lies within what matters.
//!
//! Limits: what a single run cannot know of other occasions is assumed ([`OF_FIGURES`], [`OF_COSTS`]). Intervals are those
//! of each pair alone, and being equivalent is said of each pair alone.

mod explain;
mod headline;
mod traits;

use std::borrow::Cow;
use std::collections::BTreeMap;

use hopcost_core::{
    Between, CellPair, CellResult, Code, EffectPair, Estimate, ExperimentResult, Headline, Known,
    Lacking, Likeness, Machine, Outcome, PointCost, ProbeReport, Reason, ScorePair, Side, SideRun,
    Unit,
};
use hopcost_stats::{Apart, Occasion, difference_of, holm, log_ratio_of};

/// A difference within this does not matter: a share of a figure, or of throughput.
pub const MARGIN: f64 = 0.03;
/// How much a figure of the same machine differs from one occasion to the next, as was found of 40 runs of
/// two probes on a guest of two CPUs while others compiled there: by 1 % where they left it alone.
const OF_FIGURES: Occasion = Occasion { spread: 0.008, shared: 0.25 };
/// The same of a cost, whose arms were measured side by side: what strikes both is in neither.
const OF_COSTS: Occasion = Occasion { spread: 0.008, shared: 0.0 };
/// How much more where other work disturbed the samples, in parts of the share that was dropped: what was
/// kept beside half of them was up to 30 % off.
const OF_DISTURBED: f64 = 0.4;
/// How often two machines that are alike may be called different anywhere.
const ERROR: f64 = 0.05;
const LEVEL: f64 = 0.95;
/// Below this level an interval is none.
const LEAST_LEVEL: f64 = 0.949;

/// One of the two, with all that was kept of it.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// As it was asked for.
    pub name: String,
    /// The machine.
    pub machine: Known<&'a Machine>,
    /// The runs that count, the latest first, one of each experiment.
    pub runs: Vec<KeptRun<'a>>,
}

/// A run of one of the two.
#[derive(Clone, Copy, Debug)]
pub struct KeptRun<'a> {
    /// Its number.
    pub id: i64,
    /// The experiment's name.
    pub experiment: &'a str,
    /// The database under test; none of a run on the hardware.
    pub target: Option<&'a str>,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// Its outcome; none of a run that was not finished.
    pub result: Option<&'a ExperimentResult>,
    /// What its probes found.
    pub reports: &'a [ProbeReport],
}

/// In what two runs of one experiment differ beside the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differing {
    /// What makes it another question.
    pub question: Vec<String>,
    /// What leaves it the same.
    pub manner: Vec<String>,
}

/// Tells how two runs differ, from what is kept of how they were asked for.
pub type TellApart<'a> = &'a dyn Fn(&KeptRun<'_>, &KeptRun<'_>) -> Differing;

/// All that can be said of the two.
pub fn compare(a: &Kept<'_>, b: &Kept<'_>, tell_apart: TellApart<'_>) -> Between {
    let mut judge = Judge::default();
    let mut between = Between {
        version: 1,
        a: side(a),
        b: side(b),
        emulated: is_emulated(a) && is_emulated(b),
        found: String::new(),
        explained_by: Vec::new(),
        traits: traits::of(&a.machine, &b.machine),
        cells: Vec::new(),
        scores: Vec::new(),
        effects: Vec::new(),
        missing: Vec::new(),
        notes: Vec::new(),
    };
    pair_cells(a, b, tell_apart, &mut judge, &mut between);
    let both = pairs_of_runs(a, b, tell_apart, &mut between);
    for pair in &both {
        pair.score(&mut judge, &mut between);
    }
    for pair in &both {
        pair.effects(&mut judge, &mut between);
    }
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

/// Was anything planted there?
fn is_emulated(kept: &Kept<'_>) -> bool {
    kept.runs.iter().any(KeptRun::is_emulated)
}

impl KeptRun<'_> {
    fn is_emulated(&self) -> bool {
        self.result.is_some_and(|result| result.emulated)
    }
}

/// Judges pairs as they come, and in the end all of them together.
#[derive(Default)]
struct Judge {
    /// How probable each is where the truth does not matter, in the order of the pairs.
    ps: Vec<f64>,
}

impl Judge {
    /// What two figures are to each other, as their ratio; different is told later.
    fn ratio(
        &mut self,
        a: &Estimate,
        b: &Estimate,
        disturbed: [f64; 2],
    ) -> Known<(Estimate, Likeness)> {
        let squares: f64 = disturbed.iter().map(|share| (OF_DISTURBED * share).powi(2)).sum();
        let spread = root_of_squares(OF_FIGURES.spread, (squares / 2.0).sqrt());
        let apart = log_ratio_of(a, b, Occasion { spread, ..OF_FIGURES });
        self.judge([a, b], apart, MARGIN.ln_1p(), f64::exp)
    }

    /// The same of two shares, as their difference.
    fn difference(&mut self, a: &Estimate, b: &Estimate) -> Known<(Estimate, Likeness)> {
        self.judge([a, b], difference_of(a, b, OF_COSTS), MARGIN, |share| share)
    }

    fn judge(
        &mut self,
        sides: [&Estimate; 2],
        apart: Option<Apart>,
        margin: f64,
        back: fn(f64) -> f64,
    ) -> Known<(Estimate, Likeness)> {
        let few = sides.iter().any(|estimate| estimate.level < LEAST_LEVEL);
        let Some(apart) = apart.filter(|_| !few) else {
            return Known::missing(Code::TooFew, "too little was measured for an interval on both");
        };
        self.ps.push(apart.p_beyond(margin));
        let [low, high] = apart.interval(LEVEL);
        let is_within = -margin <= low && high <= margin;
        let estimate = Estimate {
            point: back(apart.point),
            low: back(low),
            high: back(high),
            level: LEVEL,
            n: sides[0].n + sides[1].n,
            n_effective: sides[0].n_effective + sides[1].n_effective,
        };
        let likeness = if is_within { Likeness::Equivalent } else { Likeness::Inconclusive };
        Known::Is((estimate, likeness))
    }

    /// Says which are different: only all of them together tell what chance explains.
    fn tell_different(&self, between: &mut Between) {
        let cells = between.cells.iter_mut().map(|pair| &mut pair.likeness);
        let scores = between.scores.iter_mut().map(|pair| &mut pair.likeness);
        let effects = between.effects.iter_mut().map(|pair| &mut pair.likeness);
        let all = cells.chain(scores).chain(effects);
        for (likeness, is_different) in all.zip(holm(&self.ps, ERROR)) {
            if is_different {
                *likeness = Likeness::Different;
            }
        }
    }
}

/// The latest report of each probe, with its run.
fn reports<'r, 'a>(kept: &'r Kept<'a>) -> BTreeMap<&'a str, (&'r KeptRun<'a>, &'a ProbeReport)> {
    let all = kept.runs.iter().flat_map(|run| run.reports.iter().map(move |report| (run, report)));
    let mut latest = BTreeMap::new();
    for (run, report) in all {
        latest.entry(report.probe.as_ref()).or_insert((run, report));
    }
    latest
}

/// What was measured on the hardware of both.
fn pair_cells(
    a: &Kept<'_>,
    b: &Kept<'_>,
    tell_apart: TellApart<'_>,
    judge: &mut Judge,
    between: &mut Between,
) {
    let (of_a, of_b) = (reports(a), reports(b));
    for (probe, (run_a, report_a)) in &of_a {
        let Some((run_b, report_b)) = of_b.get(probe) else {
            between.missing.push(lacking(probe, "B has no run of it"));
            continue;
        };
        let differing = how_they_differ(run_a, run_b, tell_apart);
        if let Some(reason) = other_question(&differing) {
            between.missing.push(Lacking { what: (*probe).to_owned(), missing: reason });
            continue;
        }
        for manner in manners(report_a, report_b, &differing) {
            between.notes.push(format!("{probe}: {manner}"));
        }
        let disturbed = [disturbed_share(report_a), disturbed_share(report_b)];
        for cell in &report_a.cells {
            let fellow = report_b.cells.iter().find(|other| is_same(cell, other));
            pair_cell(report_a, (cell, fellow), disturbed, judge, between);
        }
        let only_b = report_b.cells.iter().filter(|cell| cell.estimate().is_some());
        for cell in only_b.filter(|cell| !report_a.cells.iter().any(|other| is_same(cell, other))) {
            between.missing.push(lacking(&named(probe, cell), "A did not ask for it"));
        }
    }
    for probe in of_b.keys().filter(|probe| !of_a.contains_key(*probe)) {
        between.missing.push(lacking(probe, "A has no run of it"));
    }
}

/// The share of a probe's samples that other work disturbed: it struck those that were kept, too.
fn disturbed_share(report: &ProbeReport) -> f64 {
    let dropped: u64 = report.cells.iter().flat_map(|cell| cell.dropped.values()).sum();
    let kept: u64 = report.cells.iter().filter_map(CellResult::estimate).map(|it| it.n).sum();
    dropped as f64 / (kept + dropped).max(1) as f64
}

/// The same of the blocks of a comparison.
fn disturbed_blocks(result: &ExperimentResult) -> f64 {
    let Some(details) = &result.details else { return 0.0 };
    let dropped: u64 = details.dropped.values().sum();
    dropped as f64 / details.blocks.values().sum::<u64>().max(1) as f64
}

fn is_same(cell: &CellResult, other: &CellResult) -> bool {
    let (cell, other) = (&cell.cell, &other.cell);
    cell.series == other.series
        && cell.row == other.row
        && cell.column == other.column
        && cell.unit == other.unit
}

fn pair_cell(
    report: &ProbeReport,
    (cell, fellow): (&CellResult, Option<&CellResult>),
    disturbed: [f64; 2],
    judge: &mut Judge,
    between: &mut Between,
) {
    let fellow_estimate = fellow.and_then(CellResult::estimate);
    let missing = match (cell.estimate(), fellow_estimate) {
        (Some(a), Some(b)) => match judge.ratio(a, b, disturbed) {
            Known::Is((ratio, likeness)) => {
                let CellResult { cell, .. } = cell;
                between.cells.push(CellPair {
                    probe: report.probe.clone(),
                    series: cell.series.clone(),
                    row: cell.row.clone(),
                    column: cell.column.clone(),
                    class: cell.class.clone(),
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
        (Some(_), None) => match fellow {
            Some(fellow) => format!("B: {}", why_none(fellow)),
            None => "B did not ask for it".to_owned(),
        },
        (None, Some(_)) => format!("A: {}", why_none(cell)),
        (None, None) => return,
    };
    between.missing.push(lacking(&named(&report.probe, cell), missing));
}

fn why_none(cell: &CellResult) -> String {
    match &cell.outcome {
        Outcome::Measured { .. } => String::new(),
        Outcome::Missing(reason) => reason.to_string(),
        Outcome::Void(reason) => format!("void, {reason}"),
    }
}

/// A cell as a reader finds it.
fn named(probe: &str, CellResult { cell, .. }: &CellResult) -> String {
    format!("{probe}, {}, {} → {}", cell.series, cell.row, cell.column)
}

fn lacking(what: &str, words: impl Into<Cow<'static, str>>) -> Lacking {
    Lacking { what: what.to_owned(), missing: Code::NotMeasured.because(words) }
}

/// How the same probe was asked for otherwise.
fn manners(a: &ProbeReport, b: &ProbeReport, differing: &Differing) -> Vec<String> {
    let effort = |report: &ProbeReport| format!("{:?}", report.effort).to_lowercase();
    let efforts = (a.effort != b.effort)
        .then(|| format!("{} effort on A, {} effort on B", effort(a), effort(b)));
    let manner = differing.manner.join(", ");
    let rest = (!manner.is_empty()).then(|| format!("the runs also differ in {manner}"));
    efforts.into_iter().chain(rest).collect()
}

fn how_they_differ(a: &KeptRun<'_>, b: &KeptRun<'_>, tell_apart: TellApart<'_>) -> Differing {
    let mut differing = tell_apart(a, b);
    match (a.is_emulated(), b.is_emulated()) {
        (true, false) => differing.question.push("what A is: it is emulated".to_owned()),
        (false, true) => differing.question.push("what B is: it is emulated".to_owned()),
        _ => {}
    }
    differing
}

fn other_question(differing: &Differing) -> Option<Reason> {
    let differ = !differing.question.is_empty();
    differ.then(|| {
        Code::NotComparable
            .because(format!("the two runs differ in {}", differing.question.join(", ")))
    })
}

/// Two runs of one experiment that can be compared.
struct Pair<'a> {
    experiment: &'a str,
    a: &'a ExperimentResult,
    b: &'a ExperimentResult,
    differ_in: Vec<String>,
}

/// The experiments on databases that both have, and in `missing` why others are not compared.
fn pairs_of_runs<'a>(
    a: &Kept<'a>,
    b: &Kept<'a>,
    tell_apart: TellApart<'_>,
    between: &mut Between,
) -> Vec<Pair<'a>> {
    let is_here = |kept: &Kept<'_>, name: &str| kept.runs.iter().any(|run| run.experiment == name);
    let lacks = |has: &Kept<'_>, other: &Kept<'_>, who: &str| {
        let only = has.runs.iter().filter(|run| !is_here(other, run.experiment));
        let only = only.filter(|run| run.is_of_database()); // of probes it has been said
        only.map(|run| lacking(run.experiment, format!("{who} has no run of it")))
            .collect::<Vec<_>>()
    };
    between.missing.extend(lacks(a, b, "B"));
    between.missing.extend(lacks(b, a, "A"));
    let mut pairs = Vec::new();
    for run_a in &a.runs {
        let fellow = b.runs.iter().find(|run_b| run_b.experiment == run_a.experiment);
        let Some(run_b) = fellow.filter(|run_b| run_a.is_of_database() || run_b.is_of_database())
        else {
            continue;
        };
        match pair_of(run_a, run_b, tell_apart) {
            Ok(pair) => pairs.push(pair),
            Err(missing) => {
                between.missing.push(Lacking { what: run_a.experiment.to_owned(), missing });
            }
        }
    }
    pairs
}

impl KeptRun<'_> {
    /// Hardware alone is compared cell by cell.
    fn is_of_database(&self) -> bool {
        self.target.is_some()
    }
}

fn pair_of<'a>(
    run_a: &KeptRun<'a>,
    run_b: &KeptRun<'a>,
    tell_apart: TellApart<'_>,
) -> Result<Pair<'a>, Reason> {
    let counts = |run: &KeptRun<'a>, who: &str| match run.result {
        None => Err(Code::NotMeasured.because(format!("{who}: run {} was not finished", run.id))),
        Some(result) if result.verdict.is_without_figures() => Err(result
            .reason
            .code()
            .because(format!("{who}: {}, {}", result.verdict, result.reason))),
        Some(result) => Ok(result),
    };
    let (a, b) = (counts(run_a, "A")?, counts(run_b, "B")?);
    let differing = how_they_differ(run_a, run_b, tell_apart);
    if let Some(reason) = other_question(&differing) {
        return Err(reason);
    }
    Ok(Pair { experiment: run_a.experiment, a, b, differ_in: differing.manner })
}

impl Pair<'_> {
    /// What the database did, where nothing was compared within a run.
    fn score(&self, judge: &mut Judge, between: &mut Between) {
        let is_score = |headline: &&Headline| headline.unit != Unit::Fraction;
        let [a, b] = [self.a, self.b].map(|result| result.estimate.get().filter(is_score));
        let (a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (None, None) => return,
            (a, _) => {
                let who = if a.is_none() { "A" } else { "B" };
                between.missing.push(lacking(self.experiment, format!("{who} has no score")));
                return;
            }
        };
        let judged = if a.unit == b.unit {
            let disturbed = [self.a, self.b].map(disturbed_blocks);
            judge.ratio(&a.estimate, &b.estimate, disturbed)
        } else {
            Known::missing(Code::NotComparable, "the scores have other units")
        };
        let (ratio, likeness) = match judged {
            Known::Is(judged) => judged,
            Known::Missing(missing) => {
                between.missing.push(Lacking { what: self.experiment.to_owned(), missing });
                return;
            }
        };
        let both = format!("A: {}, B: {}", a.of, b.of);
        between.scores.push(ScorePair {
            experiment: self.experiment.to_owned(),
            of: if a.of == b.of { a.of.clone() } else { both },
            unit: a.unit,
            a: a.estimate,
            b: b.estimate,
            ratio,
            likeness,
            differ_in: self.differ_in.clone(),
        });
    }

    /// The cost of each point of the sweep; those only looked at to find the worst are too high.
    fn effects(&self, judge: &mut Judge, between: &mut Between) {
        let [a, b] = [self.a, self.b].map(sure_points);
        let is_same = |a: &PointCost, b: &PointCost| (a.streams, &a.level) == (b.streams, &b.level);
        for point in &a {
            let Some(fellow) = b.iter().find(|other| is_same(point, other)) else {
                between.missing.push(lacking(&self.named(point), "B did not report it"));
                continue;
            };
            match judge.difference(&point.cost, &fellow.cost) {
                Known::Is((dearer, likeness)) => between.effects.push(EffectPair {
                    experiment: self.experiment.to_owned(),
                    level: point.level.clone(),
                    streams: point.streams,
                    a: point.cost,
                    b: fellow.cost,
                    dearer,
                    likeness,
                    differ_in: self.differ_in.clone(),
                }),
                Known::Missing(missing) => {
                    between.missing.push(Lacking { what: self.named(point), missing });
                }
            }
        }
        for point in b.iter().filter(|point| !a.iter().any(|other| is_same(point, other))) {
            between.missing.push(lacking(&self.named(point), "A did not report it"));
        }
    }

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
            "different: by more than {margin:.0} %, which chance among {pairs} alike would tell in \
             {:.0} % of comparisons at most; equivalent: the whole interval lies within {margin:.0} %",
            100.0 * ERROR
        ),
        format!(
            "each side is one occasion: that figures of the same machine differ by {:.1} % from one to the \
             next, and by more where they were restless or disturbed, is assumed, and is in the intervals",
            100.0 * OF_FIGURES.spread
        ),
    ]
}

/// √(a² + b²) of shares, which are far from where squares overflow: `f64::hypot` alone would ask for glibc 2.35.
fn root_of_squares(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

#[cfg(test)]
mod tests;
