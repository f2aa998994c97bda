//! Corrects for correlation between successive blocks.
//!
//! Method: while the lag-1 correlation exceeds `2/√n`, neighbors are merged in pairs.

use crate::sample::mean;

/// The spread of fewer blocks could not be estimated.
const LEAST: usize = 8;

/// `None` for fewer than three values or equal ones.
fn lag_one(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (values.len() >= 3 && squares > 0.0).then(|| products / squares)
}

pub fn independent(values: &[f64]) -> Vec<f64> {
    let bound = 2.0 / (values.len() as f64).sqrt();
    let correlated = lag_one(values).is_some_and(|correlation| correlation > bound);
    if !correlated || values.len() < 2 * LEAST {
        return values.to_vec();
    }
    independent(&values.chunks_exact(2).map(mean).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_merged_and_noise_is_not() {
        let mut rng = fastrand::Rng::with_seed(1);
        let noise: Vec<f64> = (0..64).map(|_| rng.f64()).collect();
        assert_eq!(independent(&noise).len(), 64);
        let wave: Vec<f64> = (0..64).map(|n| f64::from(n / 8 % 2)).collect();
        assert!(lag_one(&wave).unwrap() > 0.7);
        let merged = independent(&wave);
        assert!(merged.len() <= 16, "{}", merged.len());
        assert!((mean(&merged) - mean(&wave)).abs() < 1e-12, "merging keeps the mean");
    }

    #[test]
    fn alternation_is_no_reason_to_merge() {
        let saw: Vec<f64> = (0..32).map(|n| f64::from(n % 2)).collect();
        assert_eq!(independent(&saw).len(), 32, "it makes the interval too wide, not too narrow");
    }

    #[test]
    fn few_or_equal_values_have_no_correlation() {
        assert_eq!(lag_one(&[1.0, 2.0]), None);
        assert_eq!(lag_one(&[1.0; 9]), None);
    }
}
