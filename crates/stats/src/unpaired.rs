//! The difference of the means of two samples that were not measured side by side.
//!
//! Method: Welch's interval (B. L. Welch, "The generalization of 'Student's' problem when several
//! different population variances are involved", Biometrika 34, 1947), after correlated neighbors
//! were merged. Limits: variation between occasions is not included.

use hopcost_core::Estimate;

use crate::correlation::independent;
use crate::looks::student_quantile;
use crate::sample::{around, degrees_of_sum, deviation, mean};

/// In the order of measurement. `None` if either has fewer than two values.
pub fn difference(a: &[f64], b: &[f64], level: f64) -> Option<Estimate> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let units = [a, b].map(independent);
    let [of_a, of_b] = units.each_ref().map(|u| deviation(u).powi(2) / u.len() as f64);
    let variance = of_a + of_b;
    let degrees = degrees_of_sum([of_a, of_b], units.each_ref().map(|u| u.len() as f64 - 1.0));
    let half = student_quantile(degrees as usize, (1.0 - level) / 2.0) * variance.sqrt();
    let n_effective = units.iter().map(Vec::len).sum();
    Some(around(mean(b) - mean(a), half, level, [a.len() + b.len(), n_effective]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::noise;

    #[test]
    fn it_covers_the_difference_of_two_occasions_that_are_alike() {
        let (mut rng, runs, truth) = (fastrand::Rng::with_seed(1947), 4000, 0.03);
        let covered = (0..runs).filter(|_| {
            let a: Vec<f64> = (0..8).map(|_| 0.01 * noise(&mut rng)).collect();
            let b: Vec<f64> = (0..20).map(|_| truth + 0.03 * noise(&mut rng)).collect();
            let found = difference(&a, &b, 0.95).unwrap();
            found.low <= truth && truth <= found.high
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!((0.935..=0.975).contains(&share), "{share}");
    }

    #[test]
    fn what_differs_between_occasions_is_not_in_it() {
        let (mut rng, runs) = (fastrand::Rng::with_seed(2), 1000);
        let covered = (0..runs).filter(|_| {
            let [a, b] = [(); 2].map(|()| {
                let start = 0.01 * noise(&mut rng);
                (0..12).map(|_| start + 0.01 * noise(&mut rng)).collect::<Vec<f64>>()
            });
            let found = difference(&a, &b, 0.95).unwrap();
            found.low <= 0.0 && 0.0 <= found.high
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!(share < 0.6, "{share}: then the limits above need not be said");
    }

    #[test]
    fn equal_values_differ_by_what_they_differ_and_single_ones_by_nothing_known() {
        let found = difference(&[1.0; 3], &[1.5; 4], 0.95).unwrap();
        assert_eq!((found.low, found.point, found.high), (0.5, 0.5, 0.5));
        assert_eq!(difference(&[1.0], &[1.5, 1.6], 0.95), None);
    }
}
