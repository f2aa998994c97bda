//! The parts of a variance: what varies between starts, and what varies within one.
//!
//! Method: analysis of variance with one factor, the start.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::sample::{mean, squares};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// The standard deviation of one value within a start.
    pub sigma: f64,
    /// That of starts. `None` if none was found.
    pub tau: Option<f64>,
    /// The smallest that would have been found.
    pub tau_seen: f64,
}

const FOUND_AT: f64 = 0.05;

/// `values[start]` are those of one start. `None` for fewer than two starts, or without two values in
/// any.
pub fn parts(values: &[Vec<f64>]) -> Option<Parts> {
    let starts: Vec<&[f64]> =
        values.iter().filter(|of| !of.is_empty()).map(Vec::as_slice).collect();
    let (k, all) = (starts.len(), starts.iter().map(|of| of.len()).sum::<usize>());
    if k < 2 || all <= k {
        return None;
    }
    let grand = starts.iter().map(|of| of.iter().sum::<f64>()).sum::<f64>() / all as f64;
    let within: f64 = starts.iter().map(|of| squares(of)).sum();
    let between: f64 = starts.iter().map(|of| of.len() as f64 * (mean(of) - grand).powi(2)).sum();
    let (of_starts, of_values) = ((k - 1) as f64, (all - k) as f64);
    let (within, between) = (within / of_values, between / of_starts);
    // With starts of equal size: the size.
    let sizes: f64 = starts.iter().map(|of| (of.len() as f64).powi(2)).sum();
    let size = (all as f64 - sizes / all as f64) / of_starts;
    let bound = FisherSnedecor::new(of_starts, of_values).ok()?.inverse_cdf(1.0 - FOUND_AT);
    let tau = ((between - within) / size).max(0.0).sqrt();
    Some(Parts {
        sigma: within.sqrt(),
        tau: (between > bound * within).then_some(tau),
        tau_seen: (within * (bound - 1.0).max(0.0) / size).sqrt(),
    })
}
