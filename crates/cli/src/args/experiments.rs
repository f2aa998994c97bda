//! What is asked of experiments.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use hopcost_method::bounds::{self, Allowance};
use hopcost_method::fail_if::FailIf;
use hopcost_method::overrides;
use hopcost_method::pace::StartsAsked;

use super::shared::{EffortArgs, STORE, starts};
use crate::experiment_name::ExperimentName;
use crate::help;
use crate::output::FormatArgs;

/// An experiment and its options.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own, and they do not exclude each other
pub struct ExperimentArgs {
    /// Experiment name, or a .toml file
    #[arg(value_name = "EXPERIMENT", value_parser = ExperimentName, hide_possible_values = true)]
    pub name: String,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Database, e.g. sqlite:, postgres:managed, postgres://user@host/database, mysql:managed,
    /// mariadb:managed, duckdb: or sqlserver://user@host/ [default: the experiment's target]
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// DuckDB library for duckdb: targets [default: LD_LIBRARY_PATH, then the usual directories]
    #[arg(long, value_name = "FILE")]
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table [default: set by the experiment]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub scale: Option<u64>,
    /// Time limit, e.g. 90s or 5m; the probes of a hardware experiment share it evenly
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub budget: Option<f64>,
    /// Run a script in pgbench's format instead of the experiment's workload (repeatable)
    #[arg(long, value_name = "SCRIPT[@WEIGHT]")]
    pub file: Vec<String>,
    /// Set a variable of the --file scripts, e.g. limit=10 (repeatable)
    #[arg(short = 'D', long, value_name = "NAME=VALUE", requires = "file")]
    pub define: Vec<String>,
    /// Change one setting of a comparison, e.g. streams=1+2+4 or window=0.2s (repeatable)
    #[arg(long, value_name = "KEY=VALUE", long_help = help::settings())]
    pub set: Vec<String>,
    /// Simulate nodes, siblings or contention, e.g. nodes=2,remote_ns=80 (tests the method)
    ///
    /// nodes=N: simulate N memory nodes; remote_ns=NS: delay each access to a remote page by NS;
    /// bimodal=SHARE:TIMESx: SHARE of the remote calls take TIMES as long (with siblings=GAIN, also
    /// of the calls on a shared core); siblings=GAIN: pairs of CPUs act as SMT siblings with GAIN
    /// times the throughput of one CPU; usl=SIGMA:KAPPA: slow clients down by the Universal
    /// Scalability Law; bandwidth=nodeN:SHARE: limit node N to SHARE of its bandwidth (probes only)
    #[arg(long, value_name = "SPEC")]
    pub emulate: Option<String>,
    /// Directory that caches generated data between runs [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Begin hopcost and its server anew N times, 1 or 6 to 100: from 6 on the interval holds for the
    /// next start, too [default: as many as fit into the budget, up to 20; 1 with --set units]
    #[arg(long, value_name = "N", value_parser = starts)]
    pub starts: Option<StartsAsked>,
    /// Leave loaded data on an existing server for the next run
    #[arg(long)]
    pub keep_data: bool,
    /// Allow writes to a server that has replicas, and changes to server settings
    #[arg(long)]
    pub allow_server_changes: bool,
    /// Let hopcost take CPUs off-line that a variant excludes with `siblings` or `cores`; their
    /// state is recorded first and restored on exit
    #[arg(long)]
    pub allow_machine_changes: bool,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
}

/// Selects all experiments for `plan --sql`.
pub const EVERYTHING: &str = "all";

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Print the SQL statements in the server's dialect instead, with the server versions they
    /// apply to; for all experiments if none is named
    #[arg(long)]
    pub sql: bool,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // options
pub struct RunArgs {
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Resume the latest killed or interrupted run with the same settings
    #[arg(long)]
    pub resume: bool,
    /// Store the start and end time of each call
    #[arg(long)]
    pub raw_calls: bool,
    /// Run although other work is active, limited to e.g. cpus:0-7,mem:8G
    /// [default: all CPUs, half of available memory]; stops if that work suffers
    #[arg(long, value_name = "BOUNDS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = bounds::read)]
    pub allow_load: Option<Allowance>,
    /// Compare with baseline NAME; the first run given a name becomes it, so a new name renews it
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub baseline: Option<String>,
    /// Exit with code 0, not 5, if a probe has no figure because other work was active
    #[arg(long)]
    pub accept_gaps: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// SQLite file that stores all runs
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// Total time limit, e.g. 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds, default_value = "5m")]
    pub budget: f64,
    /// HTML page to write
    #[arg(long, value_name = "FILE", default_value = "hopcost.html")]
    pub html: PathBuf,
    /// Simulate nodes, siblings or contention, e.g. nodes=2,remote_ns=80 (tests the method)
    #[arg(long, value_name = "SPEC")]
    pub emulate: Option<String>,
    /// Directory that caches generated data between runs [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
    /// Run although other work is active, limited to e.g. cpus:0-7,mem:8G
    /// [default: all CPUs, half of available memory]; stops if that work suffers
    #[arg(long, value_name = "BOUNDS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = bounds::read)]
    pub allow_load: Option<Allowance>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// SQLite file that stores all runs
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

/// Checks of a result, for scripts.
#[derive(Debug, Default, Args)]
pub struct ChecksArgs {
    /// Exit with code 4 if EXPR holds, e.g. 'cost > 3%' (repeatable)
    #[arg(long, value_name = "EXPR", value_parser = FailIf::read, long_help = help::fail_if())]
    pub fail_if: Vec<FailIf>,
}
