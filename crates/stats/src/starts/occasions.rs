//! What differs from one occasion to the next, learned from earlier ones.
//!
//! Method: the mean square of successive differences (J. von Neumann, R. H. Kent, H. R. Bellinson,
//! B. I. Hart, "The mean square successive difference", Annals of Mathematical Statistics 12, 1941),
//! in which a lasting change counts only once. More starts within one occasion do not tell it: they
//! narrow its interval, and the next occasion still differs.
//! Limits: a temporary change counts as spread.

use hopcost_core::Estimate;
use statrs::distribution::{ContinuousCDF, Normal};

use super::error;
use crate::looks::student_quantile;
use crate::sample::{around, degrees_of_sum, mean};

/// From this many occasions on their spread is learned.
const LEAST: usize = 5;
/// The reference stays the mean of the first runs: one unlucky first run is not followed by all.
pub const FIRST_RUNS: usize = 4;

/// The standard deviation of occasions, of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occasions {
    pub omega: f64,
    /// `None` if `omega` is assumed.
    pub degrees: Option<usize>,
}

/// `figures` are logarithms of one figure, of successive occasions. `None` for fewer than five.
pub fn learned(figures: &[f64]) -> Option<Occasions> {
    if figures.len() < LEAST {
        return None;
    }
    let (variance, degrees) = successive(figures);
    Some(Occasions { omega: variance.sqrt(), degrees: Some(degrees) })
}

impl Occasions {
    /// `h` is the half-width within this hour, of the logarithm.
    pub fn half_width(&self, h: f64, level: f64) -> f64 {
        let tail = (1.0 - level) / 2.0;
        // Normal if it is assumed.
        let t = match self.degrees {
            Some(degrees) => student_quantile(degrees, tail),
            None => -Normal::standard().inverse_cdf(tail),
        };
        (h * h + (t * self.omega).powi(2)).sqrt()
    }

    /// Both sides of a positive figure, of which nothing else was known but this hour. `None` without
    /// an interval.
    pub fn widened(&self, of: &Estimate) -> Option<Estimate> {
        let has_level = of.level > 0.0 && of.level < 1.0;
        if !has_level || of.low <= 0.0 || of.low > of.point || of.point > of.high {
            return None;
        }
        let side = |end: f64| self.half_width((end / of.point).ln(), of.level).exp();
        Some(Estimate { low: of.point / side(of.low), high: of.point * side(of.high), ..*of })
    }
}

/// What changed against the runs of a baseline, from the fifth run on. `runs[run]` are the logarithms of
/// its starts, `now` those of this run. `None` for fewer than four runs.
pub fn after_runs(runs: &[Vec<f64>], now: &[f64], level: f64) -> Option<Estimate> {
    if runs.len() < FIRST_RUNS || now.len() < 2 {
        return None;
    }
    let means: Vec<f64> = runs.iter().map(|starts| mean(starts)).collect();
    let reference = mean(&means[..FIRST_RUNS]);
    let (variance, degrees) = successive(&means);
    let tail = (1.0 - level) / 2.0;
    // One run against the mean of four.
    let half =
        student_quantile(degrees, tail) * (variance * (1.0 + 1.0 / FIRST_RUNS as f64)).sqrt();
    let first: Vec<f64> = runs[..FIRST_RUNS].iter().flatten().copied().collect();
    let (before, after) = (error(&first).powi(2), error(now).powi(2));
    let welch = degrees_of_sum([before, after], [&first, now].map(|it| (it.len() - 1) as f64));
    let least = student_quantile(welch as usize, tail) * (before + after).sqrt();
    let half = if least > half { least } else { half };
    Some(around(mean(now) - reference, half, level, [now.len(), means.len()]))
}

/// The variance of one of the values, and its degrees of freedom.
fn successive(values: &[f64]) -> (f64, usize) {
    let n = values.len() as f64;
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let degrees = 2.0 * (n - 1.0).powi(2) / (3.0 * n - 4.0);
    (squares / (2.0 * (n - 1.0)), degrees as usize)
}
