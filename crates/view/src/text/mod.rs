//! Aligned terminal text that fits 80 columns.

pub mod cells;
pub mod costs;
pub mod ink;
mod machine;
mod plan;
mod runs;
pub mod table;
pub mod times;
mod whereabouts;
pub mod wrap;

pub use machine::machine;
pub use plan::{PlannedComparison, PlannedStep, comparison, plan};
pub use runs::{StoredRun, runs};
pub use whereabouts::whereabouts;

pub use crate::format::terminal::{doctor, indented, outcome, probe_report, published, survey};
