//! The threads that measure: those of probes, and those of clients of a database.
//!
//! RULE: it knows the contracts of `hopcost_core` and no probe or engine by name.

pub mod comparison;
mod event;
pub mod load;
pub mod load_monitor;
pub mod pilot;
pub mod pool;
mod probe;

pub use event::{Event, Listener, Silent};
pub use probe::run_probe;
