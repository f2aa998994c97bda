//! `cargo lab bench`: hopcost side by side with the tools that measure the same.
//!
//! Every claim is a ratio: in each round both tools run within seconds of each other on the same
//! CPUs, and the median over rounds of the rounds' ratios is reported with its interval. Peers are
//! found on the PATH; where one is missing its rows say so.

mod driver;
mod mariadb;
mod postgres;
mod probes;
mod table;
mod timed;

use anyhow::Result;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// The hardware probes: with multichase, likwid-bench and core-to-core-latency
    Probes,
    /// The databases' driver: page images with plain SQLite, loading with SQLite's own shell
    Driver,
    /// PostgreSQL: its driver with pgbench, loading with psql
    Postgres,
    /// MariaDB: its driver with sysbench
    Mariadb,
}

/// Runs the comparison and prints its table; 1 where a goal was missed.
pub fn run(what: What, rounds: usize) -> Result<u8> {
    match what {
        What::Probes => probes::run(rounds),
        What::Driver => driver::run(rounds),
        What::Postgres => postgres::run(rounds),
        What::Mariadb => mariadb::run(rounds),
    }
}
