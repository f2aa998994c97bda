//! What must hold on machines with many memory nodes, tried on emulated ones.
//!
//! `session` is tried each time; the modules whose names begin with `guest_` are groups of `cargo xtask test`.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod aboard;
mod guest_duckdb;
mod guest_limits;
mod guest_postgres;
mod guest_shapes;
mod guest_sqlite;
mod proofs;
mod session;
mod shapes;
mod sqlite;
mod steps;
mod theft;
