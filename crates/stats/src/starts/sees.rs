//! The smallest effect that a run would have found.
//!
//! Method: an effect of `(k + t(n − 1, 0.2)) · s / √n` is outside of the interval in 8 of 10 runs; `k`
//! is the half-width of the interval in standard errors.

use super::error;
use crate::looks::student_quantile;

const MISSED: f64 = 0.2;

/// `errors` is the half-width of the interval in standard errors.
pub fn sees(values: &[f64], errors: f64) -> Option<f64> {
    sees_with(values.len(), values, errors)
}

/// With `n` units that differ as these do.
pub fn sees_with(n: usize, values: &[f64], errors: f64) -> Option<f64> {
    let degrees = n.checked_sub(1).filter(|degrees| *degrees > 0 && values.len() > 1)?;
    let fewer = (values.len() as f64 / n as f64).sqrt();
    Some((errors + student_quantile(degrees, MISSED)) * error(values) * fewer)
}

/// How many units would see `effect`, with one look at their end; `deviation` is that of one unit.
pub fn units_to_see(effect: f64, deviation: f64) -> Option<usize> {
    const MOST: usize = 10_000;
    let sees = |n: usize| {
        let errors = student_quantile(n - 1, 0.025) + student_quantile(n - 1, MISSED);
        errors * deviation / (n as f64).sqrt()
    };
    (effect > 0.0).then(|| (2..=MOST).find(|n| sees(*n) <= effect)).flatten()
}
