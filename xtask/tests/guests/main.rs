//! Tests on emulated machines with many memory nodes.
//!
//! `session` always runs; the modules named `guest_*` are groups of `cargo xtask test`.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod aboard;
mod guest_duckdb;
mod guest_limits;
mod guest_postgres;
mod guest_shapes;
mod guest_sqlite;
mod proofs;
mod recipes;
mod session;
mod shapes;
mod sqlite;
mod steps;
mod theft;
