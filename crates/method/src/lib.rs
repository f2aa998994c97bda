//! What is measured, in which order, and what it means.
//!
//! RULE: pure. The same input gives the same plan and verdict on any machine. The names an
//! experiment file may use are parameters.

pub mod advice;
pub mod against;
pub mod between;
pub mod bounds;
pub mod emulation;
pub mod experiment;
pub mod fail_if;
pub mod figures;
#[cfg(test)]
mod fixtures;
pub mod hardware;
pub mod judge;
pub mod mix;
pub mod overrides;
pub mod pace;
pub mod plan;
pub mod run;
pub mod schedule;
pub mod survey;
mod tag;

pub use experiment::{FileError, Vocabulary, read as read_experiment};
pub use tag::tag;
