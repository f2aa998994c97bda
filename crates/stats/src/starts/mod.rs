//! Effects, figures and kinds over several starts.
//!
//! RULE: the unit is the start, or the pair of starts. Windows and blocks of one start share its
//! luck, e.g. where its memory is, so they never count as units.

mod kinds;
mod length;
mod occasions;
mod parts;
mod sees;
#[cfg(test)]
mod tests;

pub use kinds::{Alike, Kinds, NoKinds, least_share_seen, two_kinds};
pub use length::{Length, best_blocks, length};
pub use occasions::{FIRST_RUNS, Occasions, after_runs, learned};
pub use parts::{Parts, parts};
pub use sees::{sees, sees_with, units_to_see};

use hopcost_core::Estimate;

use crate::contrast::student_interval;
use crate::sample::deviation;

/// The contrast over pairs of starts, or over starts that hold both variants: Student's interval of
/// one value each. `None` for fewer than two.
///
/// Tried and rejected, because they do not hold what they claim or gain nothing: pooled blocks,
/// pooling after a test, REML, unpaired starts, a term for the order, signed ranks. The figures are
/// in docs/method/starts.md.
pub fn across(values: &[f64], level: f64) -> Option<Estimate> {
    student_interval(values, level)
}

/// The difference between pairs in which the tested variant came second and those in which it came
/// first, with Student's interval: half of it is what the second start of a pair loses.
pub fn order(contrasts: &[f64], tested_second: &[bool], level: f64) -> Option<Estimate> {
    let of = |second: bool| -> Vec<f64> {
        let with = contrasts.iter().zip(tested_second);
        with.filter(|(_, it)| **it == second).map(|(value, _)| *value).collect()
    };
    crate::unpaired::difference(&of(false), &of(true), level).map(|all| Estimate {
        point: all.point / 2.0,
        low: all.low / 2.0,
        high: all.high / 2.0,
        ..all
    })
}

fn error(values: &[f64]) -> f64 {
    deviation(values) / (values.len() as f64).sqrt()
}
