//! Inner loops of the probes, exact down to the instruction.
//!
//! Callers place the memory and pin the threads; a kernel returns raw times or counts.

pub mod arithmetic;
pub mod bandwidth;
pub mod chase;
pub mod commit_log;
pub mod decommit;
pub mod handover;
pub mod ping_pong;
pub mod trickle;

mod futex;
