//! The ratio of two figures measured side by side.

use hopcost_core::Estimate;

use crate::median::median_interval;

/// The median of `a / b` over rounds, in which drift cancels.
pub fn paired_ratio(rounds: &[(f64, f64)], level: f64) -> Option<Estimate> {
    let ratios: Vec<f64> = rounds.iter().map(|(a, b)| a / b).collect();
    median_interval(&ratios, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_common_to_both_cancels() {
        let rounds: Vec<(f64, f64)> =
            (1..=12).map(|round| (110.0 * f64::from(round), 100.0 * f64::from(round))).collect();
        let ratio = paired_ratio(&rounds, 0.95).unwrap();
        assert!((ratio.point - 1.1).abs() < 1e-12 && ratio.high - ratio.low < 1e-9);
    }
}
