//! The block contrast: the unit of every comparison.
//!
//! Method: a block is four windows, ABBA or BAAB at random. Its contrast is
//! `y = ½ (ln B₁ + ln B₂ − ln A₁ − ln A₂)` of the throughputs, so that linear drift cancels. The
//! cost of B is `1 − eʸ`.

use hopcost_core::Estimate;

use crate::looks::student_quantile;
use crate::sample::{around, deviation, mean};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    pub a: [f64; 2],
    pub b: [f64; 2],
}

impl Block {
    /// `None` if a window has no throughput.
    pub fn contrast(&self) -> Option<f64> {
        let windows = [self.b[0], self.b[1], self.a[0], self.a[1]];
        let all_positive = windows.iter().all(|rate| rate.is_finite() && *rate > 0.0);
        let [b1, b2, a1, a2] = windows.map(f64::ln);
        all_positive.then_some((b1 + b2 - a1 - a2) / 2.0)
    }
}

pub fn cost(contrast: f64) -> f64 {
    -contrast.exp_m1()
}

/// Swaps the ends: lower throughput is higher cost.
pub fn cost_interval(contrast: &Estimate) -> Estimate {
    Estimate {
        point: cost(contrast.point),
        low: cost(contrast.high),
        high: cost(contrast.low),
        ..*contrast
    }
}

/// An ordinary 95% Student interval. `None` for fewer than two values.
pub fn mean_interval(values: &[f64]) -> Option<Estimate> {
    student_interval(values, 0.95)
}

pub(crate) fn student_interval(values: &[f64], level: f64) -> Option<Estimate> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len();
    let quantile = student_quantile(n - 1, (1.0 - level) / 2.0);
    let half = quantile * deviation(values) / (n as f64).sqrt();
    Some(around(mean(values), half, level, [n, n]))
}

/// For figures that decide nothing.
pub fn simple_cost(contrasts: &[f64]) -> Option<Estimate> {
    mean_interval(contrasts).as_ref().map(cost_interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_drift_cancels_in_either_order() {
        let rate = |window: i32, slower: f64| (f64::from(window) * -0.05).exp() * (1.0 - slower);
        let abba = Block { a: [rate(0, 0.0), rate(3, 0.0)], b: [rate(1, 0.1), rate(2, 0.1)] };
        let baab = Block { a: [rate(1, 0.0), rate(2, 0.0)], b: [rate(0, 0.1), rate(3, 0.1)] };
        for block in [abba, baab] {
            assert!((cost(block.contrast().unwrap()) - 0.1).abs() < 1e-12);
        }
    }

    #[test]
    fn a_window_without_work_gives_no_contrast() {
        assert_eq!(Block { a: [1.0, 1.0], b: [1.0, 0.0] }.contrast(), None);
        assert_eq!(Block { a: [1.0, f64::NAN], b: [1.0, 1.0] }.contrast(), None);
    }

    #[test]
    fn the_interval_of_a_cost_stands_the_right_way_round() {
        let y = Estimate { point: -0.1, low: -0.2, high: 0.0, level: 0.95, n: 8, n_effective: 8.0 };
        let cost = cost_interval(&y);
        assert!(cost.low.abs() < 1e-15 && cost.low < cost.point && cost.point < cost.high);
    }
}
