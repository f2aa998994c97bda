//! Two machines side by side, or one on two occasions. Pure: everything follows from kept runs.
//!
//! Method: cells of probes are paired by what was measured, results by their experiment. Figures are compared
//! by their ratio, costs by their difference, each with the errors of both in quadrature
//! (`stats::log_ratio_of`, `difference_of`). A pair is different if the difference is beyond what matters
//! and chance does not explain it among all that was compared (`stats::holm`); it is equivalent if its
//! whole interval lies within what matters.
//!
//! Limits: what a single run cannot know of other occasions is assumed (`OF_FIGURES`, `OF_COSTS`). Each interval,
//! and each equivalence, is of one pair alone.

mod compare;
mod explain;
mod headline;
mod kept;
mod likeness;
#[cfg(test)]
mod tests;
mod traits;

pub use compare::compare;
pub use kept::{Differing, Kept, KeptRun};
