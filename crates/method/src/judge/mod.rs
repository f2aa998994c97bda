//! From stored blocks to a verdict. Pure: the same blocks give the same result on any machine.

mod case;
mod conclude;
mod counted;
mod details;
mod objections;
mod proof;
pub mod result;
mod scaling;
mod score;
mod spread;
mod tier;

pub use case::{Case, Circumstances, MOST_AGAIN};
pub use conclude::conclude;
pub use spread::LEAST_CALLS_FOR_SPREAD;
