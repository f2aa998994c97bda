//! Effects across server restarts.
//!
//! Method: split-plot. Blocks of one start share its luck, e.g. its memory, so the unit is the mean
//! of a start's blocks.

use hopcost_core::Estimate;

use crate::looks::student_quantile;
use crate::sample::{around, deviation, mean};

pub const LEAST_RESTARTS: usize = 4;

/// `contrasts[restart]` are those of its blocks. `None` for fewer than four restarts with blocks.
pub fn across_restarts(contrasts: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let starts: Vec<f64> =
        contrasts.iter().filter(|blocks| !blocks.is_empty()).map(|blocks| mean(blocks)).collect();
    if starts.len() < LEAST_RESTARTS {
        return None;
    }
    let n = starts.len();
    let quantile = student_quantile(n - 1, (1.0 - level) / 2.0);
    let half = quantile * deviation(&starts) / (n as f64).sqrt();
    let blocks = contrasts.iter().map(Vec::len).sum();
    Some(around(mean(&starts), half, level, [blocks, n]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::simple_cost;
    use crate::cost;
    use crate::sample::noise;

    /// Blocks with 1% noise on starts that differ by 1%.
    fn starts(rng: &mut fastrand::Rng, restarts: usize, truth: f64) -> Vec<Vec<f64>> {
        let start = |rng: &mut fastrand::Rng| {
            let own = truth + 0.01 * noise(rng);
            (0..30).map(|_| own + 0.01 * noise(rng)).collect()
        };
        (0..restarts).map(|_| start(rng)).collect()
    }

    #[test]
    fn it_covers_where_one_instance_does_not() {
        let (mut rng, runs, truth) = (fastrand::Rng::with_seed(5), 2000, -0.03);
        let (mut across, mut one) = (0, 0);
        for _ in 0..runs {
            let contrasts = starts(&mut rng, 6, truth);
            let estimate = across_restarts(&contrasts, 0.95).unwrap();
            across += usize::from(estimate.low <= truth && truth <= estimate.high);
            let alone = simple_cost(&contrasts[0]).unwrap();
            one += usize::from(alone.low <= cost(truth) && cost(truth) <= alone.high);
        }
        assert!((1850..=1950).contains(&across), "{across} of {runs} covered");
        assert!(one < runs / 2, "one instance's blocks cover in {one} of {runs}");
    }

    #[test]
    fn few_restarts_say_nothing() {
        let mut rng = fastrand::Rng::with_seed(1);
        assert_eq!(across_restarts(&starts(&mut rng, 3, 0.0), 0.95), None);
        let mut with_empty = starts(&mut rng, 3, 0.0);
        with_empty.push(Vec::new());
        assert_eq!(across_restarts(&with_empty, 0.95), None);
    }
}
