//! What is asked of databases beside experiments.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use hopcost_app::catalogue::{dataset_names, workload_names};
use hopcost_core::CpuSet;
use hopcost_method::overrides;

use super::shared::cpu_list;

/// Calls for their own sake.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// The database, as sqlite:, postgres:managed, postgres://user@host/database or mariadb:managed
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// What to ask it, unless --file or --builtin says it
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(workload_names()))]
    pub workload: Option<String>,
    #[command(flatten)]
    pub own: OwnArgs,
    /// Concurrent streams
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// Threads that they share; as many as there are CPUs, but no more than clients, without it
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// How long, as 10s or 5m
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds, default_value = "10s")]
    pub duration: f64,
    /// Calls a second over all clients, whatever became of those before; without it each waits for its
    /// last answer
    #[arg(long, value_name = "CALLS", conflicts_with = "think")]
    pub rate: Option<f64>,
    /// Time that a client waits after each answer, as 10ms
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub think: Option<f64>,
    /// CPUs of the threads that ask, as 0-3,8; all of them without it
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub client_cpus: Option<CpuSet>,
    /// CPUs of the server's processes that work for them; where the server wants them without it
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub worker_cpus: Option<CpuSet>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// A workload of the user's own.
#[derive(Debug, Default, Args)]
pub struct OwnArgs {
    /// Ask what a script in pgbench's format asks; with several, as often as each weighs: a.sql@3
    #[arg(long, value_name = "SCRIPT[@WEIGHT]", conflicts_with = "workload")]
    pub file: Vec<String>,
    /// The same with a script of pgbench's own: tpcb-like, simple-update or select-only
    #[arg(long, value_name = "NAME[@WEIGHT]", conflicts_with = "workload")]
    pub builtin: Vec<String>,
    /// Give scripts a variable that they begin with, as limit=10; may be given again
    #[arg(short = 'D', long, value_name = "NAME=VALUE", conflicts_with = "workload")]
    pub define: Vec<String>,
}

/// A data set into a database.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The database, as sqlite:, postgres:managed, postgres://user@host/database or mariadb:managed
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// What to load
    #[arg(value_name = "DATASET", value_parser = PossibleValuesParser::new(dataset_names()))]
    pub dataset: String,
    #[command(flatten)]
    pub data: DataArgs,
}

/// Data, and where it is kept.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// DuckDB's library, for duckdb: [default: LD_LIBRARY_PATH, then the usual places]
    #[arg(long, value_name = "FILE")]
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub scale: Option<u64>,
    /// Where generated data is kept for the next run [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Work in a database although others follow it
    #[arg(long)]
    pub allow_server_changes: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}
