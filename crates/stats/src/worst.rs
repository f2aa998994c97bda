//! The worst variant of a sweep, without the winner's curse.
//!
//! Method: paired Student intervals with Bonferroni correction exclude variants; the rest is the
//! worst *set*. The selecting cost is biased upwards, so the reported one comes from fresh blocks.

use crate::looks::student_quantile;
use crate::sample::{deviation, mean};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstSet {
    pub worst: usize,
    pub not_excluded: Vec<usize>,
}

/// `costs[variant][block]`. `None` for fewer than two variants or blocks.
pub fn find(costs: &[Vec<f64>], level: f64) -> Option<WorstSet> {
    let blocks = costs.first()?.len();
    if costs.len() < 2 || blocks < 2 || costs.iter().any(|of_level| of_level.len() != blocks) {
        return None;
    }
    let by_mean = |a: &usize, b: &usize| mean(&costs[*a]).total_cmp(&mean(&costs[*b]));
    let worst = (0..costs.len()).max_by(by_mean)?;
    let each = (1.0 - level) / (costs.len() - 1) as f64;
    let quantile = student_quantile(blocks - 1, each);
    let may_be_worse = |other: &usize| {
        let pairs = costs[worst].iter().zip(&costs[*other]);
        let ahead: Vec<f64> = pairs.map(|(worst, other)| worst - other).collect();
        mean(&ahead) <= quantile * deviation(&ahead) / (blocks as f64).sqrt()
    };
    let others = (0..costs.len()).filter(|&other| other != worst);
    Some(WorstSet { worst, not_excluded: others.filter(may_be_worse).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::noise;

    #[test]
    fn a_clear_worst_level_stands_alone_and_a_near_one_beside_it() {
        let mut rng = fastrand::Rng::with_seed(2);
        let truths = [0.00, 0.05, 0.049, 0.01];
        let costs: Vec<Vec<f64>> = truths
            .iter()
            .map(|truth| (0..12).map(|_| truth + 0.004 * noise(&mut rng)).collect())
            .collect();
        let found = find(&costs, 0.95).unwrap();
        assert!(found.worst == 1 || found.worst == 2, "{found:?}");
        assert_eq!(found.not_excluded, [3 - found.worst]);
    }

    #[test]
    fn the_true_worst_is_rarely_excluded() {
        let mut rng = fastrand::Rng::with_seed(3);
        let runs = 2000;
        let lost = (0..runs)
            .filter(|_| {
                let costs: Vec<Vec<f64>> = (0..8)
                    .map(|level| {
                        let truth = if level == 5 { 0.001 } else { 0.0 };
                        (0..10).map(|_| truth + 0.007 * noise(&mut rng)).collect()
                    })
                    .collect();
                let found = find(&costs, 0.95).unwrap();
                found.worst != 5 && !found.not_excluded.contains(&5)
            })
            .count();
        assert!(lost < runs / 20, "{lost} of {runs}");
    }

    #[test]
    fn nothing_to_compare_has_no_worst() {
        assert_eq!(find(&[vec![0.1, 0.2]], 0.95), None);
        assert_eq!(find(&[vec![0.1], vec![0.2]], 0.95), None);
        assert_eq!(find(&[vec![0.1, 0.2], vec![0.2]], 0.95), None);
    }
}
