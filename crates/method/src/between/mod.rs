//! Compares two machines, or one on two occasions. Pure: everything follows from stored runs.
//!
//! Method: probe cells are paired by what they measure, results by experiment; figures are compared
//! by ratio, costs by difference. A pair is different beyond the margin and chance (`stats::holm`),
//! and equivalent if its interval is within the margin. Limits: variation between occasions is
//! assumed.

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
