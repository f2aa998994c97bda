//! What is computed from files, machines and blocks alone: nothing is measured here.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod experiments;
mod plans;
mod verdicts;
