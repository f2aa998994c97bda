//! A distribution-free interval for a median.
//!
//! Method: binomial coverage of order statistics, with interpolation (T. P. Hettmansperger, S. J.
//! Sheather, "Confidence intervals based on interpolated order statistics", Statistics &
//! Probability Letters 4, 1986). Units must be independent.
//! Limits: fewer than 6 values cannot reach 95%.

use hopcost_core::Estimate;

use crate::quantile::{quantile, sorted};

/// The result has the achieved level. `None` without values.
pub fn median_interval(values: &[f64], level: f64) -> Option<Estimate> {
    let ascending = sorted(values);
    let n = ascending.len();
    let point = quantile(&ascending, 0.5)?;
    let covers = coverages(n);
    let whole = Estimate {
        point,
        low: ascending[0],
        high: ascending[n - 1],
        level: covers[0],
        n: n as u64,
        n_effective: n as f64,
    };
    // The deepest ranks that cover at least `level`, and the next, which cover less.
    let depth = covers.partition_point(|&covered| covered >= level).saturating_sub(1);
    let (Some(&inner), true) = (covers.get(depth + 1), covers[0] > level) else {
        return Some(whole);
    };
    let share = interpolation(n, depth + 1, (covers[depth] - level) / (covers[depth] - inner));
    let between = |outer: f64, inner: f64| outer + share * (inner - outer);
    Some(Estimate {
        low: between(ascending[depth], ascending[depth + 1]),
        high: between(ascending[n - 1 - depth], ascending[n - 2 - depth]),
        level,
        ..whole
    })
}

/// By depth: the coverage of the order statistics at that depth from both ends.
fn coverages(n: usize) -> Vec<f64> {
    let mut tail = 0.0;
    let mut log_choose = 0.0;
    let mut covers = Vec::with_capacity(n.div_ceil(2));
    for k in 0..n.div_ceil(2) {
        tail += (log_choose - n as f64 * std::f64::consts::LN_2).exp();
        covers.push(1.0 - 2.0 * tail);
        log_choose += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    covers
}

/// The weight of the inner order statistic; `rank` is the outer one's, from 1.
fn interpolation(n: usize, rank: usize, share: f64) -> f64 {
    let (n, d) = (n as f64, rank as f64);
    (n - d) * share / (d + (n - 2.0 * d) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_say_how_little_they_prove() {
        let estimate = median_interval(&[3.0, 1.0, 2.0], 0.95).unwrap();
        assert_eq!((estimate.low, estimate.point, estimate.high), (1.0, 2.0, 3.0));
        assert!((estimate.level - 0.75).abs() < 1e-12);
        assert!(median_interval(&[5.0], 0.95).unwrap().level.abs() < 1e-12);
        assert_eq!(median_interval(&[], 0.95), None);
    }

    #[test]
    fn agrees_with_the_published_example() {
        // Ten ordered values: ranks (1, 10) cover 99.8%, (2, 9) 97.9%, (3, 8) 89.1%.
        for (covered, published) in coverages(10).iter().zip([0.998_05, 0.978_52, 0.890_63]) {
            assert!((covered - published).abs() < 1e-5);
        }
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = median_interval(&values, 0.95).unwrap();
        // I = (0.97852 − 0.95) / (0.97852 − 0.89063) = 0.32453; λ = 8·I / (2 + 6·I) = 0.65782
        assert!((estimate.low - 2.657_8).abs() < 1e-3, "{estimate:?}");
        assert!((estimate.high - 8.342_2).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn covers_as_often_as_it_claims() {
        type Noise = fn(&mut fastrand::Rng) -> f64; // with median 0
        let noises: [(&str, Noise); 3] = [
            ("uniform", |r| r.f64() - 0.5),
            ("exponential", |r| -(1.0 - r.f64()).ln() - std::f64::consts::LN_2),
            ("cauchy", |r| (std::f64::consts::PI * (r.f64() - 0.5)).tan()),
        ];
        let mut rng = fastrand::Rng::with_seed(1986);
        for (name, noise) in noises {
            for n in [6, 9, 20] {
                let runs = 20_000;
                let covered = (0..runs)
                    .filter(|_| {
                        let values: Vec<f64> = (0..n).map(|_| noise(&mut rng)).collect();
                        let interval = median_interval(&values, 0.95).unwrap();
                        interval.low <= 0.0 && 0.0 <= interval.high
                    })
                    .count();
                let share = covered as f64 / f64::from(runs);
                assert!((0.94..=0.975).contains(&share), "{name}, n = {n}: {share}");
            }
        }
    }
}
