//! The variation between runs, learned from previous runs.
//!
//! Method: the mean square of successive differences (J. von Neumann, R. H. Kent, H. R. Bellinson,
//! B. I. Hart, "The mean square successive difference", Annals of Mathematical Statistics 12,
//! 1941), in which a lasting change counts only once.
//! Limits: a temporary change counts as spread.

use hopcost_core::Estimate;

use crate::looks::student_quantile;

/// Fewer runs say nothing about how runs differ.
pub const LEAST_RUNS: usize = 4;

/// `runs` are in order, relative to any zero. Fewer than four leave the interval unchanged.
pub fn across_runs(difference: &Estimate, runs: &[f64]) -> Estimate {
    if runs.len() < LEAST_RUNS {
        return *difference;
    }
    let (variance, degrees) = successive(runs);
    let tail = (1.0 - difference.level) / 2.0;
    // Of a difference of two runs: twice the variance of one.
    let half = student_quantile(degrees, tail) * (2.0 * variance).sqrt();
    Estimate {
        low: difference.low.min(difference.point - half),
        high: difference.high.max(difference.point + half),
        ..*difference
    }
}

/// The variance of one of the values, and its degrees of freedom.
pub(crate) fn successive(values: &[f64]) -> (f64, usize) {
    let n = values.len() as f64;
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let degrees = 2.0 * (n - 1.0).powi(2) / (3.0 * n - 4.0);
    (squares / (2.0 * (n - 1.0)), degrees as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{mean, noise};
    use crate::unpaired;

    fn start(rng: &mut fastrand::Rng, truth: f64) -> Vec<f64> {
        let own = truth + 0.01 * noise(rng);
        (0..12).map(|_| own + 0.01 * noise(rng)).collect()
    }

    fn coverage(starts: usize, truth: f64) -> f64 {
        let (mut rng, runs) = (fastrand::Rng::with_seed(1941), 3000);
        let covered = (0..runs).filter(|_| {
            let earlier: Vec<Vec<f64>> = (0..starts).map(|_| start(&mut rng, 0.0)).collect();
            let now = start(&mut rng, truth);
            let means: Vec<f64> = earlier.iter().map(|blocks| mean(blocks)).collect();
            let alone = unpaired::difference(&earlier[0], &now, 0.95).unwrap();
            let found = across_runs(&alone, &means);
            found.low <= truth && truth <= found.high
        });
        covered.count() as f64 / f64::from(runs)
    }

    #[test]
    fn it_covers_once_there_were_starts_to_learn_from() {
        let [two, five, twelve] = [1, 5, 12].map(|starts| coverage(starts, -0.02));
        assert!(two < 0.6, "two starts know nothing of others: {two}");
        assert!((0.92..=0.99).contains(&five), "{five}");
        assert!((0.93..=0.98).contains(&twelve), "{twelve}");
    }

    #[test]
    fn a_change_that_stayed_is_not_taken_for_spread() {
        let estimate =
            Estimate { point: -0.2, low: -0.2, high: -0.2, level: 0.95, n: 24, n_effective: 24.0 };
        let mut starts = [0.0, 0.001, -0.001, 0.002, 0.0, 0.001, -0.001, 0.0].to_vec();
        let before = across_runs(&estimate, &starts);
        starts.extend([-0.2, -0.201, -0.199, -0.2, -0.198, -0.2, -0.201, -0.2, -0.199]);
        let after = across_runs(&estimate, &starts);
        assert!(before.high < -0.19 && after.high < -0.05, "{before:?} {after:?}");
    }
}
