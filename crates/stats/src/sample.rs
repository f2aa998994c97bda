//! Mean and deviation of a sample.

use hopcost_core::Estimate;

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
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
