//! `cargo lab`: benchmarks, validation of the method, and generated documentation.
#![allow(clippy::print_stdout, clippy::print_stderr)] // tools talk to the developer

mod bench;
mod campaign;
mod dist;
mod docs;
mod matrix;
mod size;
mod validate;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand, value_parser};

/// What measures and documents hopcost
#[derive(Parser)]
#[command(name = "cargo lab", bin_name = "cargo lab")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure hopcost side by side with the tools that measure the same
    Bench {
        /// What to measure
        #[arg(value_enum)]
        what: bench::What,
        /// Rounds of each comparison, 6 or more: fewer have no 95% interval
        #[arg(long, default_value_t = 9, value_parser = value_parser!(u16).range(6..))]
        rounds: u16,
    },
    /// Pack hopcost for older servers: a tarball and a Debian package in target/dist
    Dist {
        /// Install the package in root trees of Debian and survey there, as root
        #[arg(long = "try")]
        is_tried: bool,
        /// Pack a tarball for aarch64 too, which nobody has run yet
        #[arg(long)]
        aarch64: bool,
    },
    /// Write the generated parts of the documentation anew
    Docs,
    /// Run every experiment on each database, for docs/reference/matrix.md (then: cargo lab docs)
    Matrix {
        /// Of these alone; the rest of the table stays as it is
        #[arg(value_name = "EXPERIMENT")]
        named: Vec<String>,
        /// There alone
        #[arg(long, value_enum)]
        place: Option<matrix::Place>,
        /// On this engine alone: hopcost (its own), sqlite, postgres, mariadb, mysql or duckdb
        #[arg(long)]
        engine: Option<String>,
    },
    /// Show how large the project is, and how it hangs together, beside its limits
    Size,
    /// List words that no dictionary has, in help, messages and documents
    Words,
    /// Try the statistics on noise of known kinds, and write the tables of docs/method/methodology.md
    Validate {
        /// Try this instead, for hours, and append its results to docs/method/validation.md
        #[arg(value_enum, conflicts_with_all = ["runs", "starts", "record", "live"])]
        campaign: Option<campaign::Campaign>,
        /// Simulated runs of each kind
        #[arg(long, default_value_t = 10_000)]
        runs: usize,
        /// Try starts as the unit instead, and write the tables of docs/method/starts.md
        #[arg(long, conflicts_with_all = ["record", "live"])]
        starts: bool,
        /// Record this machine's noise into the trace that is resampled, instead
        #[arg(long, value_name = "SECONDS")]
        record: Option<u64>,
        /// Try hopcost itself against a real database instead; takes a quiet machine and its time
        #[arg(long, value_enum, value_name = "PART")]
        live: Option<validate::Part>,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Bench { what, rounds } => bench::run(what, rounds.into()),
        Command::Dist { is_tried, aarch64 } => dist::run(is_tried, aarch64),
        Command::Docs => docs::run(),
        Command::Matrix { named, place, engine } => matrix::run(&named, place, engine.as_deref()),
        Command::Size => size::run(),
        Command::Words => words::run(),
        Command::Validate { campaign: Some(campaign), .. } => campaign::run(campaign),
        Command::Validate { record: Some(seconds), .. } => validate::record(seconds),
        Command::Validate { live: Some(part), .. } => validate::run_live(part),
        Command::Validate { runs, starts: true, .. } => validate::starts::run(runs),
        Command::Validate { runs, .. } => validate::run(runs),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
