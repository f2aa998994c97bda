//! Published fits are reproduced, intervals cover, and uncertain peaks are not reported.

use fastrand::Rng;
use hopcost_core::{Code, Estimate, Known};

use super::curve::{Curve, Seen, normal};
use super::law::Law;
use super::{Boundary, Rate, fit};
use crate::mean_interval;

/// B. Schwartz, "Practical Scalability Analysis with the Universal Scalability Law" (2015): a
/// cluster of 1 to 32 drivers. Also the test data of e.g. codahale/usl4j.
const PUBLISHED: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];
/// The fit of R's least squares, from the book.
const PUBLISHED_LAW: Law = Law { lambda: 995.6486, sigma: 0.026_715_91, kappa: 7.690_945e-4 };

fn near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() < share, "{found} instead of {wanted}");
}

/// The book fits rates, this crate their logarithms, which are weighted here to agree.
#[test]
fn agrees_with_the_published_fit() {
    let seen = PUBLISHED.iter().enumerate().map(|(n, rate)| {
        let streams = (n + 1) as f64;
        let of_law = PUBLISHED_LAW.rate(streams);
        let weight = of_law * (rate - of_law) / (rate / of_law).ln();
        Seen { streams, log_rate: rate.ln(), error: weight.sqrt().recip(), degrees: 30.0 }
    });
    let found = Curve::fitted(&seen.collect::<Vec<_>>(), None).law;
    near(found.lambda, PUBLISHED_LAW.lambda, 1e-5);
    near(found.sigma, PUBLISHED_LAW.sigma, 1e-5);
    near(found.kappa, PUBLISHED_LAW.kappa, 1e-5);
    near(found.peak(), 35.57, 1e-3);
    near(found.rate(35.0), 12_341.745, 1e-5);
}

fn measured(law: &Law, streams: &[u32], noise: f64, rng: &mut Rng) -> Vec<Rate> {
    let rate = |&streams: &u32| {
        let truth = law.rate(f64::from(streams));
        let blocks: Vec<f64> = (0..8).map(|_| truth * (noise * normal(rng)).exp()).collect();
        Rate { streams, rate: mean_interval(&blocks).unwrap() }
    };
    streams.iter().map(rate).collect()
}

const STREAMS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const TURNS: Law = Law { lambda: 1000.0, sigma: 0.05, kappa: 0.01 };

#[test]
fn what_was_planted_is_found_again() {
    let mut rng = Rng::with_seed(1993);
    for (sigma, kappa) in [(0.0, 0.0), (0.3, 0.0), (0.0, 0.02), (0.05, 0.01), (0.9, 0.2)] {
        let law = Law { lambda: 12_345.0, sigma, kappa };
        let found = fit(&measured(&law, &STREAMS, 1e-6, &mut rng), &[], 1).ok().unwrap();
        near(found.lambda.point, law.lambda, 1e-4);
        assert!((found.sigma.point - sigma).abs() < 1e-4, "{found:?}");
        assert!((found.kappa.point - kappa).abs() < 1e-4, "{found:?}");
        assert!(found.worst_miss < 1e-4, "{found:?}");
    }
}

#[test]
fn no_rates_give_a_share_below_zero() {
    let mut rng = Rng::with_seed(7);
    for _ in 0..200 {
        let rates: Vec<Rate> = STREAMS
            .iter()
            .map(|&streams| {
                let blocks: Vec<f64> = (0..8).map(|_| 1.0 + 1000.0 * rng.f64()).collect();
                Rate { streams, rate: mean_interval(&blocks).unwrap() }
            })
            .filter(|of| of.rate.low > 0.0)
            .collect();
        let Known::Is(found) = fit(&rates, &[], 1) else { continue };
        for of in [found.lambda, found.sigma, found.kappa] {
            assert!(of.low >= 0.0 && of.low <= of.high && of.point >= 0.0, "{found:?}");
        }
    }
}

#[test]
fn the_intervals_cover_as_often_as_they_claim() {
    let mut rng = Rng::with_seed(2015);
    let steady = Law { kappa: 0.0, ..TURNS };
    for (law, noise) in [(TURNS, 0.01), (TURNS, 0.05), (steady, 0.02)] {
        let runs = 400;
        let mut covered = [0; 3];
        for run in 0..runs {
            let found = fit(&measured(&law, &STREAMS, noise, &mut rng), &[], run).ok().unwrap();
            let pairs =
                [(found.lambda, law.lambda), (found.sigma, law.sigma), (found.kappa, law.kappa)];
            for (count, (interval, truth)) in covered.iter_mut().zip(pairs) {
                *count += usize::from(interval.low <= truth && truth <= interval.high);
            }
        }
        for count in covered {
            let share = count as f64 / runs as f64;
            assert!(share >= 0.92, "{covered:?} of {runs} with noise of {noise}: {law:?}");
        }
    }
}

#[test]
fn where_it_turns_down_is_told_where_it_was_seen() {
    let mut rng = Rng::with_seed(3);
    let found = fit(&measured(&TURNS, &STREAMS, 0.01, &mut rng), &[], 1).ok().unwrap();
    let peak = found.peak.ok().unwrap();
    assert!(peak.low <= TURNS.peak() && TURNS.peak() <= peak.high, "{peak:?}");
}

fn why_untold(law: &Law, streams: &[u32], boundaries: &[Boundary]) -> String {
    let rates = measured(law, streams, 0.01, &mut Rng::with_seed(4));
    match fit(&rates, boundaries, 1).ok().unwrap().peak {
        Known::Missing(reason) => reason.to_string(),
        Known::Is(peak) => panic!("{peak:?}"),
    }
}

#[test]
fn where_it_turns_down_is_not_told_of_too_little() {
    assert!(why_untold(&TURNS, &STREAMS[..5], &[]).starts_with("5 numbers of streams"));
    let steady = Law { kappa: 0.0, ..TURNS };
    assert!(why_untold(&steady, &STREAMS, &[]).starts_with("κ may be zero"));
    let later = Law { kappa: 0.002, ..TURNS };
    assert!(why_untold(&later, &STREAMS, &[]).contains("and at most 16 were measured"));
}

/// Four cores, and no other shared resource: more clients add nothing.
#[test]
fn a_bend_where_the_cores_end_is_no_law() {
    let mut rng = Rng::with_seed(5);
    let saturated = |streams: u32| 1000.0 * f64::from(streams.min(4));
    let rates: Vec<Rate> = STREAMS
        .iter()
        .map(|&streams| {
            let of_block = |_| saturated(streams) * (0.01 * normal(&mut rng)).exp();
            let blocks: Vec<f64> = (0..8).map(of_block).collect();
            Rate { streams, rate: mean_interval(&blocks).unwrap() }
        })
        .collect();
    let cores = [Boundary { streams: 4, of: "cores".into() }];
    let peak = fit(&rates, &cores, 1).ok().unwrap().peak;
    assert!(
        matches!(&peak, Known::Missing(why) if why.code() == Code::NoFit && why.as_str().contains("4 streams, where the cores")),
        "{peak:?}"
    );
    let smooth = (0..100).filter(|_| {
        let rates = measured(&TURNS, &STREAMS, 0.01, &mut rng);
        fit(&rates, &cores, 1).ok().unwrap().peak.ok().is_some()
    });
    let told = smooth.count();
    assert!(told >= 88, "{told} of 100");
}

#[test]
fn too_few_rates_have_no_law() {
    let mut rng = Rng::with_seed(6);
    assert!(fit(&measured(&TURNS, &STREAMS[..2], 0.01, &mut rng), &[], 1).ok().is_none());
    let mut rates = measured(&TURNS, &STREAMS, 0.01, &mut rng);
    rates[0].rate = Estimate { low: 900.0, point: 900.0, high: 900.0, ..rates[0].rate };
    assert!(fit(&rates, &[], 1).ok().is_none(), "an error of nothing weighs everything");
}
