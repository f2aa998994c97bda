//! What must hold on machines with many memory nodes, tried on emulated ones.
//!
//! `session` is tried each time; the other modules whose names begin with `guest_` are groups of `cargo xtask test`.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod aboard;
mod proofs;
mod session;
mod shapes;
mod steps;
