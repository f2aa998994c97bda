//! End-to-end tests on real databases that hold under any load. `../alone` has the others.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod at_work;
mod bench;
mod checks;
mod cli_rest;
mod commands;
mod compare;
mod documented;
mod everything;
mod expected;
mod experiments;
mod faults;
mod faults_mariadb;
mod faults_postgres;
mod guides;
mod mariadb;
mod older_stores;
mod on_mariadb;
mod on_postgresql;
mod postgres_rest;
mod postgresql;
mod recipes;
mod runs;
mod simulated;
mod starts;
mod whereabouts;
