//! Text for the terminal: calm, aligned, 80 columns are enough.

mod doctor;
mod ink;
mod machine;
mod probe;
mod published;
mod wrap;

pub use doctor::doctor;
pub use machine::machine;
pub use probe::probe_report;
pub use published::published;
