//! How much starts of the same thing differ, learned from those that there were.
//!
//! Method: the mean square of the differences between successive starts (J. von Neumann, R. H. Kent,
//! H. R. Bellinson, B. I. Hart, "The mean square successive difference", Annals of Mathematical
//! Statistics 12, 1941): a change that came between two of them and stayed counts once, while an
//! ordinary variance would take it for spread ever after. Their variance of the estimate gives the
//! degrees of freedom of Student's t.
//!
//! Limits: a change that comes and goes is taken for spread, so the interval errs on the wide side; and
//! of few starts it is very wide.

use hopcost_core::Estimate;

use crate::looks::student_quantile;
use crate::restarts::LEAST_RESTARTS;

/// The difference between one start and the first of `starts`, with its interval made as wide as the
/// differences among these ask for. `starts` are in their order, in the same unit, against any one
/// zero. Fewer than four leave the interval as it is.
pub fn across_starts(difference: &Estimate, starts: &[f64]) -> Estimate {
    if starts.len() < LEAST_RESTARTS {
        return *difference;
    }
    let n = starts.len() as f64;
    let squares: f64 = starts.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    // This is of a difference of two starts: twice the variance of one.
    let variance = squares / (n - 1.0);
    let degrees = 2.0 * (n - 1.0).powi(2) / (3.0 * n - 4.0);
    let tail = (1.0 - difference.level) / 2.0;
    let half = student_quantile(degrees as usize, tail) * variance.sqrt();
    Estimate {
        low: difference.low.min(difference.point - half),
        high: difference.high.max(difference.point + half),
        ..*difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{mean, noise};
    use crate::unpaired;

    /// One start's blocks, around its own luck.
    fn start(rng: &mut fastrand::Rng, truth: f64) -> Vec<f64> {
        let own = truth + 0.01 * noise(rng);
        (0..12).map(|_| own + 0.01 * noise(rng)).collect()
    }

    /// How often the interval of the last against the first holds the truth, after so many starts.
    fn coverage(starts: usize, truth: f64) -> f64 {
        let (mut rng, runs) = (fastrand::Rng::with_seed(1941), 3000);
        let covered = (0..runs).filter(|_| {
            let earlier: Vec<Vec<f64>> = (0..starts).map(|_| start(&mut rng, 0.0)).collect();
            let now = start(&mut rng, truth);
            let means: Vec<f64> = earlier.iter().map(|blocks| mean(blocks)).collect();
            let alone = unpaired::difference(&earlier[0], &now, 0.95).unwrap();
            let found = across_starts(&alone, &means);
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
        let before = across_starts(&estimate, &starts);
        starts.extend([-0.2, -0.201, -0.199, -0.2, -0.198, -0.2, -0.201, -0.2, -0.199]);
        let after = across_starts(&estimate, &starts);
        assert!(before.high < -0.19 && after.high < -0.05, "{before:?} {after:?}");
    }
}
