//! `--fail-if`: a condition on a result, for scripts. Pure: text and results go in, words come out.
//!
//! A figure is an interval, and `cost > 3%` says that all of it lies beyond 3 %: a run that is merely
//! unsure crosses nothing. To hear of that as well, write `cost.high > 3%`. What cannot be
//! known (no figure, or one of a refused run) is neither crossed nor not: `and` and `or` treat it as
//! Kleene's logic does, and a check that stays unknown has failed as a check.

mod condition;
mod read;
#[cfg(test)]
mod tests;

pub use condition::{FailIf, Outcome};
pub use read::{FIGURES, GRAMMAR, Unreadable};
