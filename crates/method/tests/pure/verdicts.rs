//! From stored blocks to verdicts and refusals.

use std::collections::BTreeMap;

use hopcost_core::{
    Binding, BlockRecord, Claim, Code, Comparison, CpuId, Disturbance, Experiment,
    ExperimentResult, Histogram, Known, Level, Load, Lookups, Metric, NodeId, Observation, Phase,
    Response, Scale, StartsFound, Subject, Trial, VariantSettings, Verdict, Window, Words, gauge,
};
use hopcost_method::judge::{Case, Circumstances, conclude};
use hopcost_method::plan::{Boundary, Placement, Plan, Point};
use hopcost_method::schedule::{Pace, Schedule, Starts};

const CALL_NS: u64 = 2_000_000;

struct Run {
    comparison: Comparison,
    plan: Plan,
    pace: Pace,
    circumstances: Circumstances,
}

fn run() -> Run {
    let placement = |home, at| Placement {
        settings: VariantSettings {
            home: Some(NodeId(home)),
            workers: vec![CpuId(at)],
            at: Some(NodeId(at)),
            ..VariantSettings::default()
        },
        ..Placement::default()
    };
    let binding = |a, b| Binding {
        nodes: BTreeMap::from([('A', NodeId(a)), ('B', NodeId(b))]),
        ..Binding::default()
    };
    let claim = |metric, level: &str| Claim { metric, least: 0.98, level: level.into() };
    Run {
        comparison: Comparison {
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
            claims: vec![
                claim(Metric::LocalLookups, "local"),
                claim(Metric::RemoteLookups, "remote"),
            ],
        },
        plan: Plan {
            bindings: vec![binding(0, 1), binding(1, 0)],
            placements: vec![
                vec![placement(0, 0), placement(0, 1)],
                vec![placement(1, 1), placement(1, 0)],
            ],
            levels: vec!["local".into(), "remote".into()],
            points: vec![Point { streams: 1, level: 1 }],
            left_out: Vec::new(),
            boundaries: Vec::new(),
        },
        pace: Pace {
            window_s: 0.2,
            guard_s: 0.05,
            search_units: 0,
            most_units: 10,
            placebo_every: 2,
            long_s: None,
            budget_s: None,
            half_width: 0.001,
            margin: 0.03,
            seed: 1,
            starts: None,
        },
        circumstances: Circumstances {
            target: "t:".into(),
            in_process: true,
            harness_ns_per_call: 50.0,
            calls_per_query: 1,
            ..Circumstances::default()
        },
    }
}

fn calls(ns: u64) -> Histogram {
    let mut latency = Histogram::default();
    for _ in 0..100 {
        latency.record(ns);
    }
    latency
}

fn window(trial: &Trial, tested: bool, cost: f64) -> Window {
    let here = NodeId(trial.binding as u32);
    let counts = BTreeMap::from([(here, 1000)]);
    let jitter = 1.0 + 2e-3 * (trial.number as f64 * 2.3).sin() * if tested { 1.0 } else { -1.0 };
    Window {
        tested,
        seconds: 0.2,
        calls: 100,
        rate: 500.0 * jitter * if tested && trial.level > 0 { 1.0 - cost } else { 1.0 },
        lookups: Some(Lookups { acquisitions: counts.clone(), distinct_pages: counts }),
        planted: if tested && trial.level > 0 { cost } else { 0.0 },
        ..Window::default()
    }
}

impl Run {
    fn ends(&self, cost: f64, change: impl Fn(&Trial, &mut Window)) -> ExperimentResult {
        let schedule = Schedule::new(&self.plan, &self.pace, self.comparison.find_worst);
        let mut blocks = Vec::new();
        while let Some(trial) = schedule.next(&blocks, 0.0) {
            let windows = trial.arms().into_iter().map(|tested| {
                let mut window = window(&trial, tested, cost);
                change(&trial, &mut window);
                if window.latency.count() == 0 {
                    window.latency = calls((1e9 / window.rate) as u64);
                }
                let calls = f64::from(trial.streams) * window.calls as f64;
                window.streams_s = calls / window.rate;
                window
            });
            let windows = windows.collect();
            blocks.push(BlockRecord {
                trial,
                windows,
                placement: Known::missing(Code::NotMeasured, "a test"),
            });
        }
        self.judge(&blocks)
    }

    fn judge(&self, blocks: &[BlockRecord]) -> ExperimentResult {
        let experiment = Experiment {
            name: "x".into(),
            question: "What?".into(),
            subject: Subject::Database(self.comparison.clone()),
            beside: Vec::new(),
            survey: None,
            words: Words::default(),
            advice: Vec::new(),
        };
        conclude(&Case {
            experiment: &experiment,
            comparison: &self.comparison,
            plan: &self.plan,
            pace: &self.pace,
            blocks,
            circumstances: &self.circumstances,
        })
    }
}

fn as_it_is(_: &Trial, _: &mut Window) {}

#[track_caller]
fn refused(result: &ExperimentResult, code: Code, words: &str) {
    let ending = (result.verdict, result.reason.code());
    assert_eq!(ending, (Verdict::Refused, code), "{}", result.reason);
    assert!(result.reason.as_str().contains(words), "{}", result.reason);
}

#[test]
fn a_cost_is_found_with_its_proof() {
    let result = run().ends(0.1, as_it_is);
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    let cost = result.estimate.get().unwrap().estimate;
    assert!(cost.low < 0.1 && 0.1 < cost.high && cost.high - cost.low < 0.02, "{cost:?}");
    assert_eq!(result.proof.len(), 4);
    assert!(result.proof.iter().all(hopcost_core::Proved::holds));
    assert_eq!(result.planted, None, "nothing was emulated");
    let details = result.details.unwrap();
    assert_eq!(details.arms.len(), 2);
    assert_eq!(details.arms[0].acquisitions, Some([details.arms[0].windows * 1000, 0]));
    assert_eq!(details.arms[1].acquisitions, Some([0, details.arms[1].windows * 1000]));
}

/// Of three units each.
fn of_starts(number: u64) -> Run {
    let mut run = run();
    let (starts, most_units) = (Some(Starts { number, units: 3 }), 3 * number);
    run.pace = Pace { starts, most_units, placebo_every: 3, ..run.pace };
    run
}

/// Sixteen starts, those in `slow` slower by 15% whatever the variant.
fn with_slow(slow: &[u64]) -> StartsFound {
    let luck = |start: u64| 0.004 * ((start * 7 % 16) as f64 / 8.0 - 1.0);
    let of_kind = |trial: &Trial, window: &mut Window| {
        if trial.phase == Phase::Fresh {
            let start = trial.unit / 3;
            window.rate *= (1.0 + luck(start)) * if slow.contains(&start) { 0.85 } else { 1.0 };
        }
    };
    let mut run = of_starts(16);
    run.pace.half_width = 0.0;
    run.ends(0.1, of_kind).details.unwrap().starts.unwrap()
}

#[test]
fn two_kinds_of_starts_are_found_with_the_effect_in_each() {
    let found = with_slow(&[1, 4, 5, 9, 12, 14]);
    let kinds = found.kinds.unwrap();
    assert_eq!(kinds.slow.iter().filter(|slow| **slow).count(), 6);
    assert!(kinds.slow[1] && kinds.slow[14] && !kinds.slow[0], "{kinds:?}");
    assert!((0.14..0.16).contains(&kinds.slower), "{kinds:?}");
    for cost in kinds.costs {
        assert!(cost.low < 0.1 && 0.1 < cost.high && cost.high - cost.low < 0.02, "{cost:?}");
    }
    assert!(found.sees_with_twice.unwrap() < 0.8 * found.sees);
    let changed = with_slow(&[9, 10, 11, 12, 13, 14, 15]);
    assert_eq!((changed.kinds, changed.changed_after), (None, Some(9)));
    let alike = with_slow(&[]);
    assert_eq!((alike.kinds, alike.changed_after), (None, None));
}

/// The luck of starts is larger than what varies within a start.
#[test]
fn with_several_starts_each_is_one_value_of_the_interval() {
    let luck = [0.02, -0.03, 0.01, -0.02, 0.03, -0.01];
    let lucky = |trial: &Trial, window: &mut Window| {
        if trial.phase == Phase::Fresh && window.tested {
            window.rate *= 1.0 + luck[trial.unit as usize / 3];
        }
    };
    let result = of_starts(6).ends(0.1, lucky);
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    let cost = result.estimate.get().unwrap().estimate;
    assert_eq!((cost.n, cost.n_effective as u64), (6, 6));
    // Student's half-width over six values with a deviation of about 2.4%.
    assert!((0.04..0.06).contains(&(cost.high - cost.low)), "{cost:?}");
    let details = result.details.unwrap();
    let starts = details.starts.unwrap();
    assert_eq!((starts.n, starts.units, starts.costs.len()), (6, 3, 6));
    assert!((0.02..0.03).contains(&starts.sd_start.unwrap()), "{starts:?}");
    assert!(starts.sd_unit < 0.005 && (0.02..0.06).contains(&starts.sees), "{starts:?}");
    let looks = &details.points[0].looks;
    assert_eq!(looks.iter().map(|look| look.cost.n).collect::<Vec<_>>(), [6], "at the end alone");
    let within_one = run().ends(0.1, as_it_is);
    assert_eq!(within_one.details.unwrap().starts, None);
}

#[test]
fn a_start_that_was_disturbed_is_replaced_by_another() {
    let disturbed = |trial: &Trial, window: &mut Window| {
        if trial.phase == Phase::Fresh && trial.unit / 3 == 2 {
            window.disturbed = Some(Disturbance::Stolen);
        }
    };
    let result = of_starts(6).ends(0.1, disturbed);
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    assert_eq!(result.details.unwrap().starts.unwrap().n, 6);
    let all = |_: &Trial, window: &mut Window| window.disturbed = Some(Disturbance::Stolen);
    let result = of_starts(6).ends(0.1, all);
    assert_eq!(result.verdict, Verdict::Disturbed);
    assert!(result.reason.as_str().contains("0 of the 6 starts"), "{}", result.reason);
}

#[test]
fn each_look_is_told_with_its_time_and_the_last_is_the_result() {
    let mut run = run();
    run.circumstances.seconds = 30.0;
    let at = |trial: &Trial, window: &mut Window| window.begin_s = trial.number as f64;
    let result = run.ends(0.1, at);
    let looks = &result.details.unwrap().points[0].looks;
    assert_eq!(looks.iter().map(|look| look.cost.n).collect::<Vec<_>>(), [8, 10]);
    assert_eq!(looks[1].cost, result.estimate.get().unwrap().estimate);
    // One block per second: two bindings a unit, and an A/A check after every second unit.
    for (look, after_s) in looks.iter().zip([24.0, 29.0]) {
        assert!((look.after_s - after_s).abs() < 1e-9, "{looks:?}");
    }
}

#[test]
fn what_was_planted_is_told_as_the_cost_that_it_is() {
    let mut run = run();
    run.circumstances.emulated = true;
    let result = run.ends(0.1, as_it_is);
    assert!(result.emulated);
    assert!((result.planted.unwrap() - 0.1).abs() < 1e-9);
}

#[test]
fn nothing_is_equivalent() {
    let result = run().ends(0.0, as_it_is);
    let ending = (result.verdict, result.reason.code());
    assert_eq!(ending, (Verdict::Equivalent, Code::Concluded), "{}", result.reason);
}

#[test]
fn what_scatters_too_much_is_inconclusive() {
    let noisy = |trial: &Trial, window: &mut Window| {
        if window.tested {
            window.rate *= 1.0 + 0.3 * (trial.unit as f64 * 1.7).sin();
        }
    };
    let result = run().ends(0.0, noisy);
    let ending = (result.verdict, result.reason.code());
    assert_eq!(ending, (Verdict::Inconclusive, Code::IntervalTooWide), "{}", result.reason);
}

#[test]
fn a_budget_too_small_for_a_look_is_inconclusive_and_says_so() {
    let mut run = run();
    for (budget_s, verdict, code) in [
        (Some(1.0), Verdict::Inconclusive, Code::TooFewBlocks),
        (None, Verdict::Disturbed, Code::OthersAtWork),
    ] {
        run.pace.budget_s = budget_s;
        let result = run.judge(&[]);
        assert_eq!((result.verdict, result.reason.code()), (verdict, code), "{}", result.reason);
    }
}

type Change = fn(&Trial, &mut Window);

/// Changes to windows with a cost, and the refusals they cause.
const REFUSALS: [(Code, &str, Change); 7] = [
    (Code::Misplaced, "seen on CPU 1", |trial, window| {
        if trial.number == 3 {
            window.objection = Some(Code::Misplaced.because("a worker of CPU 0 was seen on CPU 1"));
        }
    }),
    (Code::ClaimUnmet, "local_lookups at local, acquisitions: 95.2%", |trial, window| {
        // In one of the two bindings, and in few page accesses.
        if trial.binding == 1 && !window.tested {
            let lookups = window.lookups.as_mut().unwrap();
            lookups.acquisitions.insert(NodeId(0), 50);
        }
    }),
    (Code::ClaimUnverified, "placement is not verified", |_, window| window.lookups = None),
    (Code::WrongAnswers, "the first: 599 rows instead of 600", |trial, window| {
        if trial.number == 0 {
            window.errors = 20;
            window.first_error = Some("599 rows instead of 600".into());
        }
    }),
    // A fifth of each window passes without any call.
    (Code::LittlesLaw, "Little's law", |_, window| {
        window.latency = calls(CALL_NS);
        window.rate *= 0.8;
    }),
    (Code::SelfCheckFailed, "favors one variant", |trial, window| {
        if trial.phase == Phase::Placebo && window.tested {
            window.rate *= 0.95;
        }
    }),
    (Code::HalvesDisagree, "changed during the run", |trial, window| {
        if window.tested && trial.unit >= 5 {
            window.rate *= 1.05;
        }
    }),
];

#[test]
fn each_cause_of_a_refusal_is_told() {
    for (code, words, change) in REFUSALS {
        refused(&run().ends(0.1, change), code, words);
    }
}

#[test]
fn a_changed_plan_refuses_the_run() {
    let mut run = run();
    run.circumstances.plans = vec!["SCAN a".into()];
    run.circumstances.plans_after = vec!["SEARCH a".into()];
    refused(&run.ends(0.1, as_it_is), Code::PlanChanged, "changed the plan of a statement");
}

#[test]
fn a_harness_that_costs_too_much_refuses_the_run() {
    let mut run = run();
    run.circumstances.harness_ns_per_call = 0.06 * CALL_NS as f64;
    refused(&run.ends(0.1, as_it_is), Code::OverheadTooHigh, "hopcost's own time");
    run.circumstances.in_process = false;
    assert_eq!(run.ends(0.1, as_it_is).verdict, Verdict::Cost);
}

#[test]
fn disturbed_blocks_are_dropped_whole_and_counted() {
    let stolen = |trial: &Trial, window: &mut Window| {
        if trial.phase == Phase::Fresh && trial.unit.is_multiple_of(3) && window.tested {
            window.disturbed = Some(Disturbance::Stolen);
            window.rate *= 0.5;
        }
    };
    let result = run().ends(0.1, stolen);
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    assert!((result.estimate.get().unwrap().estimate.point - 0.1).abs() < 0.01);
    assert!(result.details.unwrap().dropped[&Disturbance::Stolen] > 4);
}

/// The other blocks (search, disturbed, long) have different figures.
#[test]
fn the_table_of_levels_is_of_the_windows_that_the_verdict_is_of() {
    let mut run = run();
    run.comparison.find_worst = true;
    run.plan.points = [1, 2].map(|streams| Point { streams, level: 1 }).to_vec();
    run.pace.search_units = 4;
    run.pace.long_s = Some(1.0);
    let of_others = |trial: &Trial, window: &mut Window| {
        let is_disturbed = trial.phase == Phase::Fresh && trial.number % 8 == 3;
        if is_disturbed {
            window.disturbed = Some(Disturbance::Stolen);
        }
        if is_disturbed || trial.phase != Phase::Fresh {
            window.rate *= 0.5;
        }
        let busy = if trial.phase == Phase::Fresh && !is_disturbed { 1.0 } else { 9.0 };
        let metric = gauge::CPU_USER_MS.name.into();
        window.observations = vec![Observation { metric, of: "workers".into(), value: busy }];
        // Two clients have the higher cost, so that point is reported.
        if trial.streams == 2 && trial.level > 0 && window.tested {
            window.rate *= 0.9;
        }
        window.latency = calls((f64::from(trial.streams) * 1e9 / window.rate) as u64);
    };
    let result = run.ends(0.1, of_others);
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    let details = result.details.unwrap();
    assert!(details.dropped[&Disturbance::Stolen] > 0 && details.blocks["long"] == 1);
    let of_two: Vec<_> = details.arms.iter().filter(|arm| arm.streams == 2).collect();
    let [baseline, tested] = &of_two[..] else { panic!("{of_two:?}") };
    for (arm, rate) in [(baseline, 500.0), (tested, 405.0)] {
        assert!((arm.response / rate - 1.0).abs() < 0.01, "{arm:?}");
        let [mean, .., p99] = arm.latency_ms.unwrap();
        assert!((mean * rate / 2000.0 - 1.0).abs() < 0.01, "{arm:?}");
        assert!(p99 < 1.1 * 2000.0 / rate, "{arm:?}");
        assert!((arm.observed[0].value - 1.0).abs() < 1e-9, "{arm:?}");
        assert_eq!(arm.windows, 4 * result.estimate.get().unwrap().estimate.n, "{arm:?}");
        assert_eq!(arm.calls, 100 * arm.windows);
    }
    // A search-only point has the windows of the search.
    let searched = details.arms.iter().filter(|arm| arm.streams == 1);
    assert!(searched.map(|arm| arm.windows).eq([16, 16]), "{:?}", details.arms);
}

#[test]
fn where_all_was_disturbed_the_table_of_levels_is_of_what_there_was() {
    let stolen = |_: &Trial, window: &mut Window| window.disturbed = Some(Disturbance::Stolen);
    let result = run().ends(0.1, stolen);
    assert_eq!(result.verdict, Verdict::Disturbed, "{}", result.reason);
    assert_eq!(result.reason.code(), Code::OthersAtWork);
    assert!(result.details.unwrap().arms.iter().all(|arm| arm.windows > 0));
}

fn score() -> Run {
    let mut run = run();
    run.comparison.levels = vec![Level { name: "whole".into(), ..Level::default() }];
    run.comparison.claims =
        vec![Claim { metric: Metric::RightAnswers, least: 1.0, level: "whole".into() }];
    run.plan.levels = vec!["whole".into()];
    run.plan.placements.iter_mut().for_each(|levels| levels.truncate(1));
    run.plan.points = [1, 2].map(|streams| Point { streams, level: 0 }).to_vec();
    run.pace.placebo_every = u64::MAX;
    run
}

/// Each client completes this share of 500 calls per second, one after the other.
fn scales(trial: &Trial, window: &mut Window, share: f64) {
    window.rate *= share * f64::from(trial.streams);
    window.latency = calls((f64::from(trial.streams) * 1e9 / window.rate) as u64);
}

#[test]
fn a_score_is_the_best_throughput_with_its_spread() {
    let result = score().ends(0.0, |trial, window| scales(trial, window, 0.75));
    assert_eq!(result.verdict, Verdict::Measured, "{}", result.reason);
    let headline = result.estimate.get().unwrap();
    assert!((headline.estimate.point - 750.0).abs() < 1.0, "{headline:?}");
    assert!(headline.estimate.low <= 750.0 && 750.0 <= headline.estimate.high, "{headline:?}");
    assert_eq!(headline.of, "calls at 2 streams");
    assert!(result.proof[0].holds() && result.proof.len() == 1);
    let arms = result.details.unwrap().arms;
    assert_eq!(arms.iter().map(|arm| arm.windows).collect::<Vec<_>>(), [80, 80]);
}

#[test]
fn a_score_whose_two_crews_differ_is_refused() {
    let result = score().ends(0.0, |trial, window| {
        scales(trial, window, if window.tested { 0.9 } else { 1.0 });
    });
    refused(&result, Code::SelfCheckFailed, "two equal worker pools differ");
}

fn scaling() -> Run {
    let mut run = score();
    run.comparison.find_scaling = true;
    run.plan.points = [1, 2, 4, 6, 8, 12].map(|streams| Point { streams, level: 0 }).to_vec();
    run.plan.boundaries = vec![vec![Boundary { streams: 8, of: "cores".into() }]];
    run
}

/// Deterministic noise: without any error no point would weigh more than another.
fn restless(trial: &Trial) -> f64 {
    1.0 + 3e-3 * (trial.number as f64 * 1.7).sin()
}

#[test]
fn a_law_that_was_planted_is_found_with_where_it_turns_down() {
    let by_law = |trial: &Trial| {
        let others = f64::from(trial.streams) - 1.0;
        1.0 / (1.0 + 0.05 * others + 0.02 * f64::from(trial.streams) * others)
    };
    let result = scaling().ends(0.0, |trial, window| {
        scales(trial, window, by_law(trial) * restless(trial));
    });
    assert_eq!(result.verdict, Verdict::Measured, "{}", result.reason);
    let law = result.details.unwrap().scaling[0].law.clone().ok().unwrap();
    let [lambda, sigma, kappa, peak] =
        [law.lambda, law.sigma, law.kappa, law.peak.clone().ok().unwrap()];
    for (found, planted) in [(lambda, 500.0), (sigma, 0.05), (kappa, 0.02), (peak, 6.892)] {
        let near = (found.point - planted).abs() < 0.05 * planted;
        assert!(near && found.low < found.high, "{found:?} instead of {planted}");
    }
    assert_eq!(result.reason.as_str(), law.to_string());
}

#[test]
fn a_curve_that_ends_with_the_cores_has_no_place_where_it_turns_down() {
    let full = |trial: &Trial| f64::from(trial.streams.min(8)) / f64::from(trial.streams);
    let result = scaling().ends(0.0, |trial, window| {
        scales(trial, window, full(trial) * restless(trial));
    });
    assert_eq!(result.verdict, Verdict::Measured, "{}", result.reason);
    let words = "not told, because the curve bends at 8 streams, where the cores end";
    assert!(result.reason.as_str().contains(words), "{}", result.reason);
}

#[test]
fn of_two_levels_each_has_its_law_beside_the_comparison() {
    let mut run = run();
    run.comparison.find_scaling = true;
    run.plan.points = [1, 2, 3, 4, 6, 8].map(|streams| Point { streams, level: 1 }).to_vec();
    let result = run.ends(0.1, |trial, window| scales(trial, window, restless(trial)));
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    let found: Vec<(String, f64)> = result
        .details
        .unwrap()
        .scaling
        .into_iter()
        .map(|of| (of.level, of.law.ok().unwrap().lambda.point))
        .collect();
    let [(local, one), (remote, other)] = &found[..] else { panic!("{found:?}") };
    assert_eq!([local, remote], ["local", "remote"]);
    assert!((one - 500.0).abs() < 5.0 && (other - 450.0).abs() < 5.0, "{found:?}");
}

#[test]
fn what_a_target_proves_is_a_claim_like_any_other() {
    let mut run = run();
    run.comparison.claims =
        vec![Claim { metric: Metric::LogWriterInPlace, least: 0.99, level: "remote".into() }];
    let proves = |held: u64| {
        move |_: &Trial, window: &mut Window| {
            window.proved = BTreeMap::from([(Metric::LogWriterInPlace, [held, 100])]);
        }
    };
    let result = run.ends(0.1, proves(100));
    assert_eq!(result.verdict, Verdict::Cost, "{}", result.reason);
    assert!(result.proof[0].holds() && result.proof.len() == 1);
    refused(&run.ends(0.1, proves(98)), Code::ClaimUnmet, "98.0%, and 99% is needed");
    refused(&run.ends(0.1, as_it_is), Code::ClaimUnverified, "cannot count log_writer_in_place");
}
