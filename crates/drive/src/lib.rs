//! The threads that measure: those of probes and those of database clients.
//!
//! RULE: depends on the traits of `hopcost_core`, and on no probe or engine.

pub mod comparison;
mod event;
pub mod load;
pub mod load_monitor;
pub mod pilot;
pub mod pool;
mod probe;

pub use event::{Event, Listener, Silent};
pub use probe::run_probe;
