//! Computations on files, machines and blocks; nothing is measured.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod experiments;
mod plans;
mod starts;
mod verdicts;
