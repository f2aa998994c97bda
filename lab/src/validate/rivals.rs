//! Conventional tests on the same traces.

use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::noise::{SAMPLE_SECONDS, Weather};

/// The two-sided p of Welch's t test, by the normal distribution, because samples are hundreds.
pub fn welch(a: &[f64], b: &[f64]) -> f64 {
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (mean, squares / (values.len() as f64 - 1.0) / values.len() as f64)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (moments(a), moments(b));
    two_sided((mean_a - mean_b) / (error_a + error_b).sqrt())
}

/// The two-sided p of the Mann–Whitney test, by its normal approximation.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|v| (*v, true)).chain(b.iter().map(|v| (*v, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let ranks = all.iter().enumerate().filter(|(_, (_, of_a))| *of_a);
    let sum: f64 = ranks.map(|(rank, _)| rank as f64 + 1.0).sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let expected = n * (n + m + 1.0) / 2.0;
    two_sided((sum - expected) / (n * m * (n + m + 1.0) / 12.0).sqrt())
}

fn two_sided(z: f64) -> f64 {
    2.0 * Normal::standard().cdf(-z.abs())
}

/// The p of a difference on a machine without any.
type Way = fn(&Weather, &mut Rng) -> f64;

pub const RIVALS: [(&str, Way); 3] = [
    ("20 min of A, then 20 min of B; Welch's t over seconds", |weather, rng| {
        let (a, b) = split(weather, 1200.0, 1, rng);
        welch(&a, &b)
    }),
    ("2 min of A and of B in turn, ten times; Welch's t over seconds", |weather, rng| {
        let (a, b) = split(weather, 120.0, 10, rng);
        welch(&a, &b)
    }),
    ("2 min of A and of B in turn, ten times; Mann–Whitney over seconds", |weather, rng| {
        let (a, b) = split(weather, 120.0, 10, rng);
        mann_whitney(&a, &b)
    }),
];

/// A and B alternate, `seconds` each.
fn split(weather: &Weather, seconds: f64, times: usize, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
    let samples = (seconds / SAMPLE_SECONDS) as usize;
    let trace = weather.trace(2 * times * samples, rng);
    let per_second = (1.0 / SAMPLE_SECONDS) as usize;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (turn, run) in trace.chunks_exact(samples).enumerate() {
        let seconds = run.chunks_exact(per_second).map(|s| s.iter().sum::<f64>() / s.len() as f64);
        if turn % 2 == 0 { a.extend(seconds) } else { b.extend(seconds) }
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::noise::normal;

    #[test]
    fn on_independent_samples_they_err_as_often_as_they_say() {
        let mut rng = Rng::with_seed(4);
        for test in [welch, mann_whitney] {
            let wrong = (0..2000)
                .filter(|_| {
                    let [a, b] =
                        [(); 2].map(|()| (0..100).map(|_| normal(&mut rng)).collect::<Vec<_>>());
                    test(&a, &b) < 0.05
                })
                .count();
            assert!((70..135).contains(&wrong), "{wrong} of 2,000 at 5 %");
        }
    }
}
