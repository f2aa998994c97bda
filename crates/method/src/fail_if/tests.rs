//! Tests of `--fail-if`.

use hopcost_core::{
    Against, Code, Comparison, Details, Estimate, Experiment, ExperimentResult, Headline, Known,
    Load, Response, Scale, StartsFound, Subject, Unit, Verdict,
};
use proptest::prelude::*;

use super::{FailIf, Outcome};
use crate::fixtures::{self, experiment};

fn estimate(point: f64, low: f64, high: f64) -> Estimate {
    Estimate { point, low, high, level: 0.95, n: 32, n_effective: 16.0 }
}

/// A cost of 4.5% (3.2 … 5.8%).
fn result() -> ExperimentResult {
    let headline = Headline {
        of: "cost of remote over local at 2 streams".into(),
        unit: Unit::Fraction,
        estimate: estimate(0.045, 0.032, 0.058),
        occasion: None,
    };
    ExperimentResult {
        verdict: Verdict::Cost,
        reason: Code::NotMeasured.because("the interval is beyond ±3.0%"),
        estimate: Known::Is(headline),
        ..fixtures::result("remote-memory")
    }
}

/// The same with a baseline of 10% (8 … 12%) more throughput.
fn against(is_first: bool) -> ExperimentResult {
    let against = Against {
        baseline: "main".into(),
        run: 3,
        begun_s: 1_800_000_000,
        is_first,
        worse: Known::Is(estimate(0.10, 0.08, 0.12)),
        dearer: Known::missing(
            Code::NotMeasured,
            "the two runs have no point of the sweep in common",
        ),
        notes: Vec::new(),
    };
    ExperimentResult { against: Some(against), ..result() }
}

#[test]
fn a_run_that_could_not_have_seen_it_has_not_passed() {
    let starts = StartsFound {
        n: 8,
        units: 2,
        sd_start: None,
        sd_start_seen: 0.01,
        sd_unit: 0.02,
        sees: 0.033,
        sees_with_twice: Some(0.022),
        kinds: None,
        changed_after: None,
        costs: vec![0.04; 8],
    };
    let details = Details { starts: Some(starts), ..Details::default() };
    let seen = ExperimentResult { details: Some(details), ..result() };
    crosses("sees > 3%", &seen);
    holds("sees > 5%", &seen);
    is_unknown("sees > 5%", &result(), "one start alone");
    crosses("starts < 9", &seen);
    holds("starts < 8", &seen);
    let of_one = ExperimentResult { details: Some(Details::default()), ..result() };
    assert_eq!(on("starts < 8", &of_one), Outcome::Crossed("starts 1 is below 8".into()));
    is_unknown("starts < 8", &result(), "hardware alone");
}

/// A latency of 250 ns (240 … 260 ns).
fn latency(level: f64) -> ExperimentResult {
    let estimate = Estimate { level, ..estimate(250.0, 240.0, 260.0) };
    let headline =
        Headline { of: "reads".into(), unit: Unit::Nanoseconds, estimate, occasion: None };
    ExperimentResult {
        experiment: "access-cost".into(),
        verdict: Verdict::Measured,
        estimate: Known::Is(headline),
        ..result()
    }
}

#[track_caller]
fn on(text: &str, result: &ExperimentResult) -> Outcome {
    FailIf::read(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}")).on(result)
}

#[track_caller]
fn crosses(text: &str, result: &ExperimentResult) {
    let outcome = on(text, result);
    assert!(matches!(outcome, Outcome::Crossed(_)), "{text}: {outcome:?}");
}

#[track_caller]
fn holds(text: &str, result: &ExperimentResult) {
    assert_eq!(on(text, result), Outcome::Held, "{text}");
}

#[track_caller]
fn is_unknown(text: &str, result: &ExperimentResult, why: &str) {
    let outcome = on(text, result);
    let Outcome::Unknown(reason) = &outcome else { panic!("{text}: {outcome:?}") };
    assert!(reason.as_str().contains(why), "{text}: {reason}");
}

#[test]
fn a_figure_is_beyond_where_all_of_its_interval_is() {
    let result = result();
    for text in ["cost > 3%", "cost>0.03", "cost > 0", "cost < 6%", "gain < -3%", "gain < 0"] {
        crosses(text, &result);
    }
    for text in ["cost > 4%", "cost < 5%", "gain > 0", "gain < -4%", "cost > 90%"] {
        holds(text, &result);
    }
}

#[test]
fn one_number_of_it_can_be_asked_for() {
    let result = result();
    for text in ["cost.low > 3%", "cost.point > 4%", "cost.high > 5%", "gain.low < -5%"] {
        crosses(text, &result);
    }
    for text in ["cost.low > 4%", "cost.point > 5%", "cost.high > 6%", "gain.high > -3%"] {
        holds(text, &result);
    }
}

#[test]
fn values_are_compared_across_units() {
    let latency = latency(0.95);
    for text in ["value > 230 ns", "value > 0.2 us", "value<1ms", "value.high > 255ns", "value > 0"]
    {
        crosses(text, &latency);
    }
    holds("value > 250 ns", &latency);
    is_unknown("value > 20 GB/s", &latency, "measured in ns");
    is_unknown("cost > 3%", &latency, "nothing to compare");
    is_unknown("value > 1 ns", &self::latency(0.75), "too few for an interval");
    crosses("value.point > 1 ns", &self::latency(0.75));
}

#[test]
fn baselines_are_asked_for_what_changed() {
    crosses("worse > 3%", &against(false));
    holds("worse > 9%", &against(false));
    is_unknown("dearer > 1%", &against(false), "in common");
    is_unknown("worse > 3%", &result(), "no baseline");
    holds("worse > 3% or dearer > 1%", &against(true));
}

#[test]
fn refused_figures_decide_nothing_and_verdicts_do() {
    let refused = ExperimentResult { verdict: Verdict::Refused, ..result() };
    is_unknown("cost > 3%", &refused, "REFUSED: the interval");
    is_unknown("cost < 3%", &refused, "REFUSED");
    crosses("verdict = REFUSED", &refused);
    crosses("verdict != cost", &refused);
    holds("verdict = EQUIVALENT", &refused);
    let unmeasured =
        ExperimentResult { estimate: Known::missing(Code::NotMeasured, "no blocks"), ..result() };
    is_unknown("cost > 3%", &unmeasured, "no blocks");
}

#[test]
fn what_is_not_known_decides_only_where_nothing_else_does() {
    let result = against(false);
    // `worse` is 10%, `dearer` is unknown.
    crosses("dearer > 1% or worse > 3%", &result);
    crosses("worse > 3% or dearer > 1%", &result);
    holds("dearer > 1% and worse > 20%", &result);
    is_unknown("dearer > 1% and worse > 3%", &result, "in common");
    is_unknown("dearer > 1% or worse > 20%", &result, "in common");
    // `and` binds tighter than `or`.
    crosses("worse > 3% or worse > 20% and dearer > 1%", &result);
    holds("worse > 20% and worse > 3% or cost > 90%", &result);
}

#[test]
fn what_crossed_is_said_with_its_figures() {
    let says = |text, result: &ExperimentResult| match on(text, result) {
        Outcome::Crossed(says) => says,
        other => panic!("{other:?}"),
    };
    let said = says("cost > 3%", &result());
    assert_eq!(said, "cost 4.50% (3.20 … 5.80%) is above 3%");
    let said = says("gain.high < -3% and verdict = COST", &result());
    assert_eq!(said, "gain.high -3.20% is below -3%, and the verdict is COST");
    let said = says("value > 200ns", &latency(0.95));
    assert_eq!(said, "value 250.00 ns (240.00 … 260.00 ns) is above 200 ns");
}

#[test]
fn an_experiment_can_be_named() {
    crosses("remote-memory: cost > 3%", &result());
    is_unknown("placebo: cost > 3%", &result(), "this is 'remote-memory'");
}

fn comparison() -> Experiment {
    let comparison = Comparison {
        target: None,
        dataset: "d".into(),
        scale: Scale { quick: 1, full: 1 },
        workload: "w".into(),
        factor: "memory".into(),
        levels: Vec::new(),
        streams: vec![1],
        load: Load::default(),
        response: Response::CallsPerSecond,
        find_worst: false,
        spread: false,
        find_scaling: false,
        claims: Vec::new(),
    };
    experiment("remote-memory", Subject::Database(comparison))
}

#[test]
fn what_can_never_be_checked_is_told_before_anything_runs() {
    let database = comparison();
    let hardware = experiment("access-cost", Subject::Hardware { probes: Vec::new() });
    let objection = |text: &str, experiment: &Experiment, has_baseline| {
        FailIf::read(text).unwrap().objection(experiment, has_baseline)
    };
    assert_eq!(objection("cost > 3%", &database, false), None);
    assert_eq!(objection("worse > 3% and verdict = COST", &database, true), None);
    assert_eq!(objection("value > 250 ns", &hardware, false), None);
    let objects = |text, experiment, words: &str| {
        let says = objection(text, experiment, false).unwrap();
        assert!(says.contains(words), "{says}");
    };
    objects("worse > 3%", &database, "takes --baseline NAME");
    objects("value > 250 ns", &database, "no value here");
    objects("verdict = COST or cost > 3%", &hardware, "no cost here");
    objects("placebo: cost > 3%", &database, "about 'placebo', and 'remote-memory' is run");
}

#[test]
fn a_condition_concerns_what_has_its_figures() {
    let hardware = experiment("access-cost", Subject::Hardware { probes: Vec::new() });
    let concerns = |text: &str| {
        let check = FailIf::read(text).unwrap();
        [&comparison(), &hardware].map(|experiment| check.concerns(experiment))
    };
    assert_eq!(concerns("cost > 3%"), [true, false]);
    assert_eq!(concerns("value > 250 ns"), [false, true]);
    assert_eq!(concerns("verdict = REFUSED"), [true, true]);
    assert_eq!(concerns("access-cost: verdict = REFUSED"), [false, true]);
    assert_eq!(concerns("placebo: cost > 3%"), [false, false]);
}

#[test]
fn what_is_wrong_is_said_with_its_column() {
    let cases = [
        ("", 1, "a condition, as cost > 3%, is missing"),
        ("cots > 3%", 1, "there is no figure 'cots'; known: cost, gain, value, worse"),
        ("cost.mid > 3%", 1, ".low, .point and .high"),
        ("cost. > 3%", 1, ".low, .point and .high"),
        ("cost", 5, "> or < is missing"),
        ("cost >", 7, "a value is missing"),
        ("cost >= 3%", 6, "write > or <"),
        ("cost = 3%", 6, "only a verdict has ="),
        ("cost ~ 3%", 6, "'~' where > or < belongs"),
        ("cost > three", 8, "'three' is no number"),
        ("cost > 3.0.0%", 8, "'3.0.0' is no number"),
        ("cost > 3", 8, "cost is a share: write 3% or 0.03"),
        ("cost > 3 ns", 8, "cost is a share"),
        ("cost > 3 parsec", 10, "'parsec' is no unit: cost is a share"),
        ("value > 250", 9, "a value has a unit"),
        ("starts < 8%", 10, "starts are a plain number"),
        ("value > 3%", 9, "a value has a unit"),
        ("cost > 3% gain > 1%", 11, "'gain' after a whole condition"),
        ("cost > 0.1 gain > 1%", 12, "'gain' is no unit"),
        ("cost > 3% && gain > 1%", 11, "join conditions with 'and' or 'or'"),
        ("(cost > 3%)", 1, "there are no parentheses"),
        ("cost > 3%) or gain > 1%", 10, "there are no parentheses"),
        ("cost > 3% or", 13, "a condition, as cost > 3%, is missing"),
        ("cost > 3% and and", 15, "no figure 'and'"),
        ("verdict > 3%", 9, "a verdict takes = or !="),
        ("verdict = DEAR", 11, "no verdict 'DEAR'; known: COST, GAIN"),
        (": cost > 3%", 1, "an experiment's name comes before ':'"),
        ("a: b: cost > 3%", 5, "one ':' at most"),
        ("größe: kost > 3%", 8, "no figure 'kost'"),
    ];
    for (text, column, says) in cases {
        let wrong = FailIf::read(text).expect_err(text);
        assert!(wrong.column == column && wrong.says.contains(says), "{text}: {wrong}");
    }
}

#[test]
fn a_verdict_is_taken_by_both_of_its_names() {
    for (verdict, names) in [
        (Verdict::Refused, ["REFUSED", "void"]),
        (Verdict::NotApplicable, ["NOT_APPLICABLE", "not tested"]),
        (Verdict::Equivalent, ["EQUIVALENT", "NO_DIFFERENCE"]),
    ] {
        let ended = ExperimentResult { verdict, ..result() };
        for name in names {
            let check = FailIf::read(&format!("verdict = {name} or verdict = GAIN")).unwrap();
            assert!(matches!(check.on(&ended), Outcome::Crossed(_)), "{name}");
            assert_eq!(check.on(&result()), Outcome::Held, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn reading_never_panics_and_points_into_the_text(text in "\\PC{0,40}") {
        if let Err(wrong) = FailIf::read(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&wrong.column), "{wrong}");
        }
    }

    #[test]
    fn nor_does_it_of_what_is_nearly_right(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "cost", "gain.low", "worse", "value", "verdict", "starts", "COST", ">", "<", "=", "!=", "3",
                "%", "-1.5", "250", "ns", "GB/s", "/s", "and", "or", ":", ".", "x-y", "µs", "0",
            ]),
            0..12,
        ),
        gap in prop::sample::select(vec!["", " "]),
    ) {
        let text = words.join(gap);
        match FailIf::read(&text) {
            Err(wrong) => prop_assert!(wrong.column <= text.chars().count() + 1, "{wrong}"),
            Ok(check) => {
                for result in [result(), against(false), latency(0.95)] {
                    let _ = check.on(&result);
                }
                prop_assert_eq!(FailIf::read(&check.to_string()), Ok(check));
            }
        }
    }
}
