//! Mean and deviation of a sample.

use hopcost_core::Estimate;

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of the distances from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum()
}

pub fn deviation(values: &[f64]) -> f64 {
    (squares(values) / (values.len() as f64 - 1.0)).sqrt()
}

/// Satterthwaite's degrees of freedom of a sum of two variances of means, from those of each.
pub fn degrees_of_sum([a, b]: [f64; 2], [of_a, of_b]: [f64; 2]) -> f64 {
    (a + b).powi(2) / (a.powi(2) / of_a + b.powi(2) / of_b)
}

pub fn around(point: f64, half: f64, level: f64, [n, n_effective]: [usize; 2]) -> Estimate {
    let (low, high) = (point - half, point + half);
    Estimate { point, low, high, level, n: n as u64, n_effective: n_effective as f64 }
}

/// A sum of twelve uniform numbers is normal enough.
#[cfg(test)]
pub fn noise(rng: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}
