//! Text for the terminal: calm, aligned, 80 columns are enough.

mod between;
mod comparison;
mod details;
mod doctor;
mod ink;
mod machine;
mod plan;
mod probe;
mod published;
mod result;
mod times;
mod whereabouts;
mod wrap;

pub use between::between;
pub use comparison::{PlannedComparison, comparison};
pub use details::details;
pub use doctor::doctor;
pub use machine::machine;
pub use plan::{PlannedStep, plan};
pub(crate) use probe::facts;
pub use probe::probe_report;
pub use published::published;
pub use result::{outcome, result, survey};
pub(crate) use times::said as spread_said;
pub use whereabouts::whereabouts;
