//! End-to-end tests that need an idle machine.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

#[path = "../servers/bench.rs"]
mod bench;
mod cli_rest;
mod disturbed;
#[path = "../servers/documented.rs"]
mod documented;
#[path = "../servers/expected.rs"]
mod expected;
mod figures;
mod planted;
mod settled;
mod stands_against;
mod survey;
mod surveys;
