//! What is asked of databases beside experiments.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use hopcost_app::catalogue::{dataset_names, workload_names};
use hopcost_core::CpuSet;
use hopcost_method::overrides;

use super::shared::cpu_list;

/// Arguments of `hopcost drive`.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// Database, e.g. sqlite:, postgres:managed, postgres://user@host/database or mariadb:managed
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Workload to run, unless --file or --builtin is given
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(workload_names()))]
    pub workload: Option<String>,
    #[command(flatten)]
    pub own: OwnArgs,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// Threads that run the clients [default: one per CPU, at most one per client]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Duration of the load, e.g. 10s or 5m
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds, default_value = "10s")]
    pub duration: f64,
    /// Calls per second over all clients, due on schedule even if earlier calls are unfinished;
    /// without it, each client waits for its last answer
    #[arg(long, value_name = "CALLS", conflicts_with = "think")]
    pub rate: Option<f64>,
    /// Pause of each client after an answer, e.g. 10ms
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub think: Option<f64>,
    /// CPUs for the client threads, e.g. 0-3,8 [default: all usable CPUs]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub client_cpus: Option<CpuSet>,
    /// CPUs for the server processes of these clients [default: not pinned]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub worker_cpus: Option<CpuSet>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// A workload from pgbench scripts.
#[derive(Debug, Default, Args)]
pub struct OwnArgs {
    /// Run a script in pgbench's format; several are mixed by weight, e.g. a.sql@3 (repeatable)
    #[arg(long, value_name = "SCRIPT[@WEIGHT]", conflicts_with = "workload")]
    pub file: Vec<String>,
    /// Run a built-in pgbench script: tpcb-like, simple-update or select-only (repeatable)
    #[arg(long, value_name = "NAME[@WEIGHT]", conflicts_with = "workload")]
    pub builtin: Vec<String>,
    /// Set a variable of the scripts, e.g. limit=10 (repeatable)
    #[arg(short = 'D', long, value_name = "NAME=VALUE", conflicts_with = "workload")]
    pub define: Vec<String>,
}

/// Arguments of `hopcost load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Database, e.g. sqlite:, postgres:managed, postgres://user@host/database or mariadb:managed
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Data set to load
    #[arg(value_name = "DATASET", value_parser = PossibleValuesParser::new(dataset_names()))]
    pub dataset: String,
    #[command(flatten)]
    pub data: DataArgs,
}

/// Options for data sets and their storage.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// DuckDB library for duckdb: targets [default: LD_LIBRARY_PATH, then the usual directories]
    #[arg(long, value_name = "FILE")]
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub scale: Option<u64>,
    /// Directory that caches generated data between runs [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Allow writes to a server that has replicas, and changes to server settings
    #[arg(long)]
    pub allow_server_changes: bool,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
}
