//! `--fail-if`: a condition on a result, for scripts. Pure.
//!
//! A figure is an interval, and `cost > 3%` means all of it: an uncertain run crosses nothing
//! (`cost.high > 3%` would). Unknown figures follow Kleene's logic in `and` and `or`, and a check
//! that stays unknown counts as failed.

mod condition;
mod read;
#[cfg(test)]
mod tests;

pub use condition::{FailIf, Outcome};
pub use read::{FIGURES, GRAMMAR, Unreadable};
