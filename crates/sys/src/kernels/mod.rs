//! The inner loops of the probes: what must be exact down to the instruction.
//!
//! Each works on memory that somebody else placed and on threads that somebody else pinned, and
//! returns raw times or counts. What to run, how often and where is the probes' business.

pub mod arithmetic;
pub mod bandwidth;
pub mod chase;
pub mod commit_log;
pub mod decommit;
pub mod handover;
pub mod ping_pong;
pub mod trickle;

mod futex;
