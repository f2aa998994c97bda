//! How far apart two figures from two occasions are.
//!
//! Method: each side of an interval gives a standard error, by Student's t. The errors of both
//! figures and the variation between occasions are added in quadrature, with Welch-Satterthwaite
//! degrees of freedom. Families are corrected by S. Holm ("A simple sequentially rejective multiple
//! test procedure", Scandinavian Journal of Statistics 6, 1979).
//! Limits: the variation between occasions is taken as exactly known.

use hopcost_core::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// The second minus the first.
    pub point: f64,
    /// Towards lower and towards higher values.
    errors: [f64; 2],
    degrees: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occasion {
    /// A standard deviation; relative for ratios.
    pub spread: f64,
    /// The share of the variance within an occasion that also occurs between occasions.
    pub shared: f64,
}

/// `b − a`. `None` if either has no spread.
pub fn difference_of(a: &Estimate, b: &Estimate, occasion: Occasion) -> Option<Apart> {
    let [a_down, a_up] = sides(a, occasion.shared)?;
    let [b_down, b_up] = sides(b, occasion.shared)?;
    let spread = 2.0 * occasion.spread.powi(2);
    // The difference is too low if the first figure was too high.
    let down = joined(b_down, a_up, spread)?;
    let up = joined(b_up, a_down, spread)?;
    Some(Apart { point: b.point - a.point, errors: [down.0, up.0], degrees: [down.1, up.1] })
}

/// `ln(b / a)`. `None` if a value is not positive.
pub fn log_ratio_of(a: &Estimate, b: &Estimate, occasion: Occasion) -> Option<Apart> {
    difference_of(&logarithm(a)?, &logarithm(b)?, occasion)
}

impl Apart {
    pub fn interval(&self, level: f64) -> [f64; 2] {
        let half = |side: usize| {
            let student = student(self.degrees[side]);
            -student.inverse_cdf((1.0 - level) / 2.0) * self.errors[side]
        };
        [self.point - half(0), self.point + half(1)]
    }

    /// The two-sided p-value if the true difference is within `margin` of zero.
    pub fn p_beyond(&self, margin: f64) -> f64 {
        // The error of the side towards zero counts.
        let side = usize::from(self.point < 0.0);
        let beyond = (self.point.abs() - margin) / self.errors[side];
        (2.0 * student(self.degrees[side]).cdf(-beyond)).min(1.0)
    }
}

/// Which are significant, with a familywise error of at most `error`.
pub fn holm(ps: &[f64], error: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut stands = vec![false; ps.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if ps[at] > error / (ps.len() - rank) as f64 {
            break;
        }
        stands[at] = true;
    }
    stands
}

/// The standard error of the logarithm and its degrees of freedom. `None` without spread.
pub(crate) fn log_error(of: &Estimate) -> Option<(f64, f64)> {
    let [(down, degrees), (up, _)] = sides(&logarithm(of)?, 0.0)?;
    Some((f64::midpoint(down, up).sqrt(), degrees))
}

/// Variance and degrees of freedom on the lower and the upper side.
fn sides(of: &Estimate, shared: f64) -> Option<[(f64, f64); 2]> {
    let degrees = of.n_effective - 1.0;
    let has_level = degrees >= 1.0 && of.level > 0.0 && of.level < 1.0;
    let is_interval = of.low <= of.point && of.point <= of.high;
    if !has_level || !is_interval {
        return None;
    }
    let quantile = -student(degrees).inverse_cdf((1.0 - of.level) / 2.0);
    // The variance of the mean of partly correlated units.
    let common = 1.0 + shared * (of.n_effective - 1.0);
    let variance = |width: f64| (common * (width / quantile).powi(2), degrees);
    Some([variance(of.point - of.low), variance(of.high - of.point)])
}

/// The last variance is exactly known. `None` if the sum is zero.
fn joined(a: (f64, f64), b: (f64, f64), known: f64) -> Option<(f64, f64)> {
    let variance = a.0 + b.0 + known;
    let degrees = variance.powi(2) / (a.0.powi(2) / a.1 + b.0.powi(2) / b.1);
    (variance > 0.0).then(|| (variance.sqrt(), degrees))
}

fn logarithm(of: &Estimate) -> Option<Estimate> {
    let [low, point, high] = [of.low, of.point, of.high].map(f64::ln);
    low.is_finite().then_some(Estimate { low, point, high, ..*of })
}

/// Beyond this, Student's t is numerically normal.
fn student(degrees: f64) -> StudentsT {
    const MOST: f64 = 1e6;
    StudentsT::new(0.0, 1.0, degrees.clamp(1.0, MOST)).expect("degrees of freedom are positive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median_interval;
    use crate::sample::noise;

    const NONE: Occasion = Occasion { spread: 0.0, shared: 0.0 };
    const KNOWN: Occasion = Occasion { spread: 0.02, shared: 0.0 };

    fn found(rng: &mut fastrand::Rng, truth: f64, occasion: f64) -> Estimate {
        let own = truth * (occasion * noise(rng)).exp();
        let rounds: Vec<f64> = (0..9).map(|_| own * (0.01 * noise(rng)).exp()).collect();
        median_interval(&rounds, 0.95).unwrap()
    }

    #[test]
    fn its_interval_covers_the_ratio_of_two_machines() {
        let (mut rng, runs) = (fastrand::Rng::with_seed(1979), 4000);
        let truth = 0.7_f64;
        let covered = (0..runs).filter(|_| {
            let [a, b] = [100.0, 70.0].map(|of| found(&mut rng, of, 0.02));
            let [low, high] = log_ratio_of(&a, &b, KNOWN).unwrap().interval(0.95);
            low <= truth.ln() && truth.ln() <= high
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!((0.94..=0.98).contains(&share), "{share}");
    }

    #[test]
    fn of_many_that_are_alike_hardly_ever_one_is_told() {
        let (mut rng, runs) = (fastrand::Rng::with_seed(7), 500);
        let told = |rng: &mut fastrand::Rng, slower: f64, margin: f64| {
            let pairs = (0..30).map(|n| {
                let truth = if n == 0 { slower } else { 1.0 };
                let [a, b] = [1.0, truth].map(|of| found(rng, of, 0.02));
                log_ratio_of(&a, &b, KNOWN).unwrap().p_beyond(margin)
            });
            holm(&pairs.collect::<Vec<f64>>(), 0.05)
        };
        let of = |rng: &mut fastrand::Rng, margin: f64| {
            let wrong = (0..runs).filter(|_| told(rng, 1.0, margin).contains(&true));
            wrong.count() as f64 / f64::from(runs)
        };
        let [at_all, materially] = [of(&mut rng, 0.0), of(&mut rng, 0.03)];
        assert!(at_all <= 0.08, "{at_all}");
        assert!(materially <= 0.01, "{materially}");
        let found = (0..runs).filter(|_| told(&mut rng, 0.7, 0.03)[0]);
        assert!(found.count() as f64 > 0.99 * f64::from(runs), "30% are found among 30");
    }

    #[test]
    fn what_rounds_have_in_common_widens_the_interval() {
        let (mut rng, runs) = (fastrand::Rng::with_seed(1908), 4000);
        let shared = 0.25_f64;
        let restless = |rng: &mut fastrand::Rng| {
            let hour = shared.sqrt() * noise(rng);
            let rounds = (0..15).map(|_| hour + (1.0 - shared).sqrt() * noise(rng));
            median_interval(&rounds.map(|it| (0.02 * it).exp()).collect::<Vec<_>>(), 0.95).unwrap()
        };
        let mut covered = |shared| {
            let covers = (0..runs).filter(|_| {
                let [a, b] = [(); 2].map(|()| restless(&mut rng));
                let occasion = Occasion { spread: 0.0, shared };
                let [low, high] = log_ratio_of(&a, &b, occasion).unwrap().interval(0.95);
                low <= 0.0 && 0.0 <= high
            });
            covers.count() as f64 / f64::from(runs)
        };
        let (ignored, known) = (covered(0.0), covered(shared));
        assert!(ignored < 0.75 && known > 0.93, "{ignored} {known}");
    }

    #[test]
    fn each_side_has_its_own_error() {
        let level = 0.95;
        let lopsided =
            Estimate { point: 10.0, low: 9.0, high: 18.0, level, n: 9, n_effective: 9.0 };
        let narrow = Estimate { low: 9.9, high: 10.1, ..lopsided };
        let apart = difference_of(&narrow, &lopsided, NONE).unwrap();
        let [low, high] = apart.interval(level);
        assert!((low + 1.0).abs() < 0.05 && (high - 8.0).abs() < 0.05, "{low} {high}");
        let turned = difference_of(&lopsided, &narrow, NONE).unwrap().interval(level);
        assert!((turned[0] + high).abs() < 1e-12 && (turned[1] + low).abs() < 1e-12);
    }

    #[test]
    fn without_any_spread_nothing_is_known() {
        let one = Estimate { point: 1.0, low: 1.0, high: 1.0, level: 0.95, n: 1, n_effective: 1.0 };
        assert_eq!(difference_of(&one, &one, KNOWN), None);
        let many = Estimate { n_effective: 9.0, ..one };
        assert_eq!(difference_of(&many, &many, NONE), None);
        assert_eq!(log_ratio_of(&many, &Estimate { low: -0.1, ..many }, KNOWN), None);
    }

    #[test]
    fn holm_stops_at_the_first_that_does_not_stand() {
        assert_eq!(holm(&[0.03, 0.001, 0.02, 0.9], 0.05), [false, true, false, false]);
        assert_eq!(holm(&[0.01, 0.012, 0.02, 0.04], 0.05), [true; 4]);
        assert!(holm(&[], 0.05).is_empty());
    }
}
