//! `cargo lab bench`: hopcost side by side with the tools that measure the same.
//!
//! In each round both tools run within seconds of each other on the same CPUs. Reported is the
//! median of the rounds' ratios, with its interval. A tool missing on the PATH is reported in its
//! rows.

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

/// Returns 1 if a goal was missed.
pub fn run(what: What, rounds: usize) -> Result<u8> {
    match what {
        What::Probes => probes::run(rounds),
        What::Driver => driver::run(rounds),
        What::Postgres => postgres::run(rounds),
        What::Mariadb => mariadb::run(rounds),
    }
}
