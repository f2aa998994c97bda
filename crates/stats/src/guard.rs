//! How long a switch between two variants disturbs the following calls.
//!
//! Method: MSER-5 (K. P. White, "An effective truncation heuristic for bias reduction in simulation
//! output", Simulation 69, 1997): average the samples over several switches, in batches of five,
//! and drop the prefix that minimizes the standard error of the rest.

use crate::sample::{deviation, mean};

const BATCH: usize = 5;

/// At most half of the samples are dropped: beyond that the rule fits noise.
pub fn samples_to_drop(switches: &[Vec<f64>]) -> Option<usize> {
    let length = switches.iter().map(Vec::len).min()?;
    let averaged: Vec<f64> = (0..length)
        .map(|at| switches.iter().map(|samples| samples[at]).sum::<f64>() / switches.len() as f64)
        .collect();
    let batches: Vec<f64> = averaged.chunks_exact(BATCH).map(mean).collect();
    let error = |dropped: usize| {
        let rest = &batches[dropped..];
        deviation(rest) / (rest.len() as f64).sqrt()
    };
    let candidates = 0..=batches.len() / 2;
    let best = candidates.min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    (batches.len() >= 4).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_switch(slow: usize, seed: u64) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..200).map(|n| if n < slow { 50.0 } else { 100.0 } + rng.f64()).collect()
    }

    #[test]
    fn a_slow_start_is_dropped_and_no_more() {
        let switches: Vec<_> = (0..6).map(|seed| after_switch(23, seed)).collect();
        let dropped = samples_to_drop(&switches).unwrap();
        assert!((25..=40).contains(&dropped), "{dropped}");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(samples_to_drop(&[vec![1.0; 12]]), None);
        assert_eq!(samples_to_drop(&[]), None);
    }
}
