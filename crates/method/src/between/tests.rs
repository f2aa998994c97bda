//! Tests of comparing two machines.

use hopcost_core::{
    Between, Code, Details, Estimate, ExperimentResult, Headline, Known, Likeness, Outcome,
    PointCost, ProbeReport, Unit,
};

use super::{Differing, Kept, KeptRun, compare};
use crate::fixtures::{cell, estimate, measured, none, report, result};

fn matrix(
    probe: &'static str,
    unit: Unit,
    [local, remote]: [f64; 2],
    of_node_1: f64,
) -> ProbeReport {
    let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let figure = |(row, column)| {
        let point = if row == column { local } else { remote };
        measured(point * if column == 1 { of_node_1 } else { 1.0 })
    };
    let cells = places.map(|(row, column)| cell(unit, row, column, figure((row, column))));
    report(probe, cells.to_vec())
}

fn latency(local: f64, remote: f64) -> ProbeReport {
    matrix("latency", Unit::Nanoseconds, [local, remote], 1.0)
}

fn bandwidth(of_node_1: f64) -> ProbeReport {
    matrix("bandwidth", Unit::GigabytesPerSecond, [60.0, 30.0], of_node_1)
}

fn score(calls: f64) -> ExperimentResult {
    let of = "calls at 4 streams".to_owned();
    let headline =
        Headline { of, unit: Unit::PerSecond, estimate: estimate(calls, 0.01), occasion: None };
    ExperimentResult { estimate: Known::Is(headline), ..result("server-score") }
}

fn costs(far: f64, exploratory: bool) -> ExperimentResult {
    let cost = Estimate { low: far - 0.01, high: far + 0.01, ..estimate(far, 0.0) };
    let point = PointCost {
        streams: 2,
        level: "far".into(),
        cost,
        exploratory,
        may_be_worst: false,
        looks: Vec::new(),
    };
    let details = Some(Details { points: vec![point], ..Details::default() });
    ExperimentResult { details, ..result("remote-memory") }
}

struct Store {
    reports: Vec<ProbeReport>,
    hardware: ExperimentResult,
    results: Vec<ExperimentResult>,
}

impl Store {
    fn of(reports: Vec<ProbeReport>, results: Vec<ExperimentResult>) -> Self {
        Self { reports, hardware: result("access-cost"), results }
    }

    fn kept(&self) -> Kept<'_> {
        let run = |result, reports| KeptRun {
            id: 1,
            experiment: "",
            target: None,
            begun_s: 0,
            result,
            reports,
        };
        let hardware = run(Some(&self.hardware), &self.reports[..]);
        let hardware = KeptRun { experiment: "access-cost", ..hardware };
        let results = self.results.iter().map(|result| KeptRun {
            experiment: &result.experiment,
            target: Some("sqlite:"),
            ..run(Some(result), &[])
        });
        Kept {
            name: "a test".into(),
            machine: none(),
            runs: std::iter::once(hardware).chain(results).collect(),
        }
    }
}

fn between(a: &Store, b: &Store) -> Between {
    compare(&a.kept(), &b.kept(), &|_, _| Differing::default())
}

fn likenesses(between: &Between) -> Vec<Likeness> {
    between.likenesses().collect()
}

#[test]
fn equal_machines_are_equivalent_and_nothing_is_explained() {
    let store = || {
        Store::of(vec![latency(90.0, 140.0), bandwidth(1.0)], vec![score(5e4), costs(0.1, false)])
    };
    let between = between(&store(), &store());
    // A score is less precisely known and is not among them.
    assert_eq!(
        likenesses(&between)[..9],
        [&[Likeness::Equivalent; 8][..], &[Likeness::Inconclusive]].concat()
    );
    assert_eq!(
        between.found,
        "No difference could be told: of 10 figures 9 are equivalent, and 1 undecided."
    );
    assert!(between.explained_by.is_empty() && between.missing.is_empty(), "{between:?}");
}

#[test]
fn a_node_with_less_bandwidth_is_found_from_either_side() {
    let whole = Store::of(vec![latency(90.0, 140.0), bandwidth(1.0)], Vec::new());
    let poorer = Store::of(vec![latency(90.0, 140.0), bandwidth(0.62)], Vec::new());
    let there = between(&whole, &poorer);
    assert!(
        there.found.starts_with("B is slower in 2 of 8 figures of the hardware"),
        "{}",
        there.found
    );
    assert_eq!(
        there.explained_by[0],
        "bandwidth of node 1 is 38% (37 … 39) lower on B, its latency alike, other nodes alike: \
         suspect a memory module or channel there"
    );
    let back = between(&poorer, &whole);
    assert!(back.found.starts_with("B is faster in 2 of 8"), "{}", back.found);
    assert!(back.explained_by[0].starts_with("bandwidth of node 1 is 38% (37 … 39) lower on A"));
}

#[test]
fn less_bandwidth_everywhere_is_no_single_module() {
    let of = |share: f64| {
        let points = [60.0 * share, 30.0 * share];
        Store::of(vec![matrix("bandwidth", Unit::GigabytesPerSecond, points, 1.0)], Vec::new())
    };
    let said = &between(&of(1.0), &of(0.8)).explained_by[0];
    assert!(said.starts_with("bandwidth of nodes 0, 1 is 20%"), "{said}");
    assert!(
        said.contains("its latency not measured on both, of all nodes that both have"),
        "{said}"
    );
}

#[test]
fn latency_that_is_higher_everywhere_is_told_from_a_longer_way() {
    let of = |local, remote| Store::of(vec![latency(local, remote)], Vec::new());
    let said =
        |local, remote| between(&of(90.0, 140.0), &of(local, remote)).explained_by[0].clone();
    assert!(said(110.0, 170.0).contains("latency on B, everywhere, is"), "{}", said(110.0, 170.0));
    assert!(said(90.0, 190.0).contains("between nodes, is 36%"), "{}", said(90.0, 190.0));
}

#[test]
fn a_score_counts_first_and_suspicion_falls_on_what_was_not_measured() {
    let of = |calls| Store::of(vec![latency(90.0, 140.0)], vec![score(calls)]);
    let between = between(&of(5e4), &of(4e4));
    assert!(between.found.starts_with("B is slower: server-score is 20% ("), "{}", between.found);
    assert!(between.explained_by[0].contains("suspect the frequency of CPUs"), "{between:?}");
}

#[test]
fn costs_are_compared_by_their_difference_and_only_where_they_are_sure() {
    let of = |far, exploratory| Store::of(Vec::new(), vec![costs(far, exploratory)]);
    let dearer = between(&of(0.05, false), &of(0.25, false));
    assert_eq!(likenesses(&dearer), [Likeness::Different]);
    assert!((dearer.effects[0].dearer.point - 0.2).abs() < 1e-12);
    assert!(dearer.found.contains("“far” of remote-memory costs +20.0%"), "{}", dearer.found);
    let searched = between(&of(0.05, true), &of(0.25, true));
    assert_eq!(
        (searched.effects.len(), searched.found.as_str()),
        (0, "Nothing could be compared.")
    );
}

#[test]
fn what_one_lacks_is_named_with_its_reason() {
    let mut thin = Store::of(vec![latency(90.0, 140.0)], Vec::new());
    thin.reports[0].cells[1].outcome =
        Outcome::Missing(Code::NotComparable.because("binding is forbidden"));
    let mut few = estimate(140.0, 0.001);
    few.level = 0.875;
    if let Outcome::Measured { estimate, .. } = &mut thin.reports[0].cells[2].outcome {
        *estimate = few;
    }
    let full = Store::of(vec![latency(90.0, 140.0), bandwidth(1.0)], vec![score(5e4)]);
    let between = between(&full, &thin);
    let missing: Vec<(&str, &str)> =
        between.missing.iter().map(|it| (it.what.as_str(), it.missing.as_str())).collect();
    assert_eq!(
        missing,
        [
            ("bandwidth", "B has no run of it"),
            ("latency, reads, node 0 → node 1", "B: binding is forbidden"),
            ("latency, reads, node 1 → node 0", "too little was measured for an interval on both"),
            ("server-score", "B has no run of it"),
        ]
    );
    assert_eq!(between.cells.len(), 2);
}

#[test]
fn an_emulated_machine_is_compared_with_another_such_only() {
    let mut planted = Store::of(vec![bandwidth(1.0)], vec![score(5e4)]);
    planted.hardware.emulated = true;
    planted.results[0].emulated = true;
    let real = Store::of(vec![bandwidth(1.0)], vec![score(5e4)]);
    let apart = between(&planted, &real);
    assert_eq!(likenesses(&apart), []);
    let reasons: Vec<&str> = apart.missing.iter().map(|it| it.missing.as_str()).collect();
    assert_eq!(reasons, ["the two runs differ in what A is: it is emulated"; 2]);
    let both = between(&planted, &planted);
    assert!(both.emulated && both.found.starts_with("EMULATED: "), "{}", both.found);
}

#[test]
fn another_question_is_not_compared_and_another_manner_is_named() {
    let store = Store::of(Vec::new(), vec![score(5e4)]);
    let differing = |question: &[&str], manner: &[&str]| {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let differing = Differing { question: owned(question), manner: owned(manner) };
        compare(&store.kept(), &store.kept(), &move |_, _| differing.clone())
    };
    let other = differing(&["--scale"], &[]);
    assert_eq!(other.missing[0].missing.as_str(), "the two runs differ in --scale");
    let same = differing(&[], &["--seed"]);
    assert_eq!(
        (same.missing.len(), &same.scores[0].differ_in[..]),
        (0, &["--seed".to_owned()][..])
    );
}
