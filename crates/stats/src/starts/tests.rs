//! Tests of starts by small simulations; the tables are in `cargo lab validate`.

use fastrand::Rng;

use super::*;
use crate::looks::student_quantile;
use crate::sample::{mean, noise};

/// Starts that differ by 1%, with 30 blocks of 1% each.
fn blocks_of_starts(rng: &mut Rng, starts: usize, truth: f64) -> Vec<Vec<f64>> {
    let start = |rng: &mut Rng| {
        let own = truth + 0.01 * noise(rng);
        (0..30).map(|_| own + 0.01 * noise(rng)).collect()
    };
    (0..starts).map(|_| start(rng)).collect()
}

#[test]
fn it_covers_where_one_start_does_not() {
    let (mut rng, runs, truth) = (Rng::with_seed(5), 2000, -0.03);
    let (mut several, mut one) = (0, 0);
    let holds = |it: &Estimate| it.low <= truth && truth <= it.high;
    for _ in 0..runs {
        let blocks = blocks_of_starts(&mut rng, 6, truth);
        let means: Vec<f64> = blocks.iter().map(|of| mean(of)).collect();
        several += usize::from(holds(&across(&means, 0.95).unwrap()));
        one += usize::from(holds(&across(&blocks[0], 0.95).unwrap()));
    }
    assert!((1850..=1950).contains(&several), "{several} of {runs} covered");
    assert!(one < runs / 2, "one start's blocks cover in {one} of {runs}");
    assert_eq!(across(&[0.1], 0.95), None);
}

#[test]
fn the_second_start_of_a_pair_may_be_slower() {
    let mut rng = Rng::with_seed(2);
    // B second gains −0.01 from its place, B first +0.01.
    let second: Vec<bool> = (0..40).map(|n| n % 2 == 0).collect();
    let of = |second: &bool| if *second { -0.01 } else { 0.01 };
    let values: Vec<f64> = second.iter().map(|it| of(it) + 0.001 * noise(&mut rng)).collect();
    let found = order(&values, &second, 0.95).unwrap();
    assert!((found.point + 0.01).abs() < 0.001, "{found:?}");
    assert!(found.low < found.point && found.point < found.high && found.high < 0.0);
}

#[test]
fn parts_are_found_and_what_was_not_found_has_a_bound() {
    let mut rng = Rng::with_seed(3);
    let found = parts(&blocks_of_starts(&mut rng, 40, 0.0)).unwrap();
    assert!((found.sigma - 0.01).abs() < 0.001, "{found:?}");
    assert!((found.tau.unwrap() - 0.01).abs() < 0.003, "{found:?}");
    let alike: Vec<Vec<f64>> =
        (0..8).map(|_| (0..10).map(|_| 0.01 * noise(&mut rng)).collect()).collect();
    let found = parts(&alike).unwrap();
    assert_eq!(found.tau, None);
    assert!((0.002..0.005).contains(&found.tau_seen), "{found:?}");
    assert_eq!(parts(&[vec![1.0], vec![2.0]]), None);
}

#[test]
fn a_start_is_measured_as_long_as_it_takes() {
    let of = |budget_s, start_s, window_s| {
        let Length { starts, windows } = length(budget_s, start_s, window_s, None);
        (starts, windows)
    };
    assert_eq!(of(240.0, 5.0, 1.0), (24, 5));
    assert_eq!(of(240.0, 0.0, 1.0), (60, 4), "no more than 60 starts");
    assert_eq!(of(60.0, 5.0, 1.0), (8, 2), "eight starts come first");
    assert_eq!(of(60.0, 13.0, 2.0), (4, 1));
    assert_eq!(of(10.0, 13.0, 2.0), (0, 1), "not even one");
    assert_eq!(best_blocks(4.0, 1.0, 0.02, 0.01), Some(4));
    assert_eq!(best_blocks(4.0, 1.0, 0.02, 0.0), None);
}

#[test]
fn what_a_run_sees_is_found_in_eight_of_ten() {
    let table = [(4, 2.08), (6, 1.42), (8, 1.15), (10, 0.99), (16, 0.75), (20, 0.66)];
    for (n, published) in table {
        // Values with a deviation of one.
        let half = ((n - 1) as f64 / n as f64).sqrt();
        let values: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { half } else { -half }).collect();
        let errors = student_quantile(n - 1, 0.025);
        let found = sees(&values, errors).unwrap();
        assert!((found - published).abs() < 0.01, "{n}: {found}");
    }
    assert_eq!(units_to_see(1.15, 1.0), Some(9), "1.151 with eight");
    assert_eq!(units_to_see(0.0, 1.0), None);
}

fn by_time(of: &[Vec<f64>]) -> Vec<(usize, usize)> {
    (0..of[0].len()).flat_map(|n| (0..of.len()).map(move |variant| (variant, n))).collect()
}

#[test]
fn two_kinds_are_found_and_the_effect_within_each() {
    let mut rng = Rng::with_seed(11);
    let slow = [[1, 4, 5], [0, 3, 6]];
    let values: Vec<Vec<f64>> = (0..2)
        .map(|variant| {
            (0..8)
                .map(|n| {
                    let step = if slow[variant].contains(&n) { -0.1 } else { 0.0 };
                    -0.05 * variant as f64 + step + 0.003 * noise(&mut rng)
                })
                .collect()
        })
        .collect();
    let kinds = two_kinds(&values, &by_time(&values)).unwrap();
    assert!((kinds.step + 0.1).abs() < 0.005, "{kinds:?}");
    assert_eq!(kinds.shares(), [0.375, 0.375]);
    assert!(kinds.slow[0][1] && !kinds.slow[0][0]);
    assert!(kinds.p_of_variant.unwrap() > 0.999);
    let Alike(alike) = kinds.alike(&values, 0.95).unwrap();
    assert!(alike.low < -0.05 && alike.high > -0.055 && alike.high - alike.low < 0.02, "{alike:?}");
}

#[test]
fn a_machine_that_changed_is_no_second_kind() {
    let mut rng = Rng::with_seed(12);
    let values: Vec<Vec<f64>> = (0..2)
        .map(|_| {
            (0..10).map(|n| if n < 6 { 0.0 } else { -0.1 } + 0.003 * noise(&mut rng)).collect()
        })
        .collect();
    assert_eq!(two_kinds(&values, &by_time(&values)), Err(NoKinds::ChangedAfter(12)));
    let few: Vec<Vec<f64>> = values.iter().map(|of| of[..5].to_vec()).collect();
    assert_eq!(two_kinds(&few, &by_time(&few)), Err(NoKinds::NotSeen), "ten starts are too few");
    for (starts, share) in [(8, 0.31), (16, 0.17), (20, 0.14)] {
        assert!((least_share_seen(starts) - share).abs() < 0.005);
    }
}

#[test]
fn occasions_are_learned_from_the_fifth_on() {
    let mut rng = Rng::with_seed(13);
    let figures: Vec<f64> = (0..60).map(|_| 3.0 + 0.02 * noise(&mut rng)).collect();
    assert_eq!(learned(&figures[..4]), None);
    let found = learned(&figures).unwrap();
    assert!((found.omega - 0.02).abs() < 0.004, "{found:?}");
    // 2 (K − 1)² / (3 K − 4) degrees of freedom.
    assert_eq!(found.degrees, Some(39));
    let assumed = Occasions { omega: 0.02, degrees: None };
    assert!((assumed.half_width(0.03, 0.95) - 0.049_4).abs() < 1e-4);
}

#[test]
fn from_the_fifth_run_on_the_reference_is_the_mean_of_the_first_four() {
    let run = |at: f64| vec![at - 0.001, at + 0.001, at, at];
    let runs = [run(0.01), run(-0.01), run(0.005), run(-0.005)];
    let found = after_runs(&runs, &run(-0.2), 0.95).unwrap();
    assert!((found.point + 0.2).abs() < 1e-12 && found.high < -0.1, "{found:?}");
    assert_eq!(after_runs(&runs[..3], &run(0.0), 0.95), None);
    // Runs that were equal by luck are no better known than their starts.
    let equal = [run(0.0), run(0.0), run(0.0), run(0.0)];
    let found = after_runs(&equal, &run(0.0), 0.95).unwrap();
    assert!(found.high > 0.0005, "{found:?}");
}

#[test]
fn a_change_that_stayed_is_not_taken_for_spread() {
    let run = |at: f64| vec![at - 0.001, at + 0.001, at, at + 0.0005];
    let mut runs: Vec<Vec<f64>> =
        [0.0, 0.001, -0.001, 0.002, 0.0, 0.001, -0.001, 0.0].map(run).to_vec();
    let before = after_runs(&runs, &run(-0.2), 0.95).unwrap();
    runs.extend([-0.2, -0.201, -0.199, -0.2, -0.198, -0.2, -0.201, -0.2, -0.199].map(run));
    let after = after_runs(&runs, &run(-0.2), 0.95).unwrap();
    assert!(before.high < -0.19 && after.high < -0.05, "{before:?} {after:?}");
}
