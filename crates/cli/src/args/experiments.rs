//! What is asked of experiments.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use hopcost_method::bounds::{self, Allowance};
use hopcost_method::fail_if::FailIf;
use hopcost_method::overrides;

use super::shared::{EffortArgs, STORE};
use crate::experiment_name::ExperimentName;
use crate::help;
use crate::output::FormatArgs;

/// An experiment, and how it is wanted.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own, and they do not exclude each other
pub struct ExperimentArgs {
    /// An experiment's name, or a .toml file
    #[arg(value_name = "EXPERIMENT", value_parser = ExperimentName, hide_possible_values = true)]
    pub name: String,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// The database, as sqlite:, postgres:managed, postgres://user@host/database, mysql:managed,
    /// mariadb:managed, duckdb: or sqlserver://user@host/ ; the experiment's own without it
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// DuckDB's library, for --target duckdb: [default: LD_LIBRARY_PATH, then the usual places]
    #[arg(long, value_name = "FILE")]
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table, instead of the experiment's own
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub scale: Option<u64>,
    /// Time that it may take, as 90s or 5m; the probes of an experiment on the hardware share it evenly
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub budget: Option<f64>,
    /// Ask what a script in pgbench's format asks, instead of the experiment's own workload
    #[arg(long, value_name = "SCRIPT[@WEIGHT]")]
    pub file: Vec<String>,
    /// Give the scripts of --file a variable that they begin with, as limit=10; may be given again
    #[arg(short = 'D', long, value_name = "NAME=VALUE", requires = "file")]
    pub define: Vec<String>,
    /// Change one thing about a comparison, as streams=1+2+4 or window=0.2s
    #[arg(long, value_name = "KEY=VALUE", long_help = help::settings())]
    pub set: Vec<String>,
    /// Plant what is not there, as nodes=2,remote_ns=80: checks the method, not the machine
    ///
    /// nodes=N: so many memory nodes; remote_ns=NS: what a page of another node takes longer;
    /// bimodal=SHARE:TIMESx: a share of remote calls, or of those beside a sibling, takes so many times as
    /// long; siblings=GAIN: each two CPUs are the threads of one core and do GAIN times as much as one;
    /// usl=SIGMA:KAPPA: streams are in each other's way by the Universal Scalability Law;
    /// bandwidth=nodeN:SHARE: for a probe, a node gives a share of its bytes
    #[arg(long, value_name = "SPEC")]
    pub emulate: Option<String>,
    /// Where generated data is kept for the next run [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Leave loaded data in a database that runs, for the next run
    #[arg(long)]
    pub keep_data: bool,
    /// Work in a database although others follow it
    #[arg(long)]
    pub allow_server_changes: bool,
    /// Let hopcost take the CPUs off-line that a level leaves unused by `siblings` or `cores`; written down
    /// before, put back after
    #[arg(long)]
    pub allow_machine_changes: bool,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

/// Stands for all experiments where their statements are to be listed.
pub const EVERYTHING: &str = "all";

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// List what would be said to the server instead, in its own language, with the versions that it is for; of all
    /// experiments, where none is named
    #[arg(long)]
    pub sql: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// Go on with the latest run of this kind that was killed or interrupted
    #[arg(long)]
    pub resume: bool,
    /// Keep the begin and the end of each call
    #[arg(long)]
    pub raw_calls: bool,
    /// Stay within these bounds, as cpus:0-7,mem:8G, and stop where other work on this host suffers;
    /// what is left out is all CPUs, and half of the memory that is available
    #[arg(long, value_name = "BOUNDS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = bounds::read)]
    pub allow_load: Option<Allowance>,
    /// Compare with the first run of this name, or be it
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub baseline: Option<String>,
    /// Ends with 0 where a probe has no figure, as others were at work, and not with 5
    #[arg(long)]
    pub accept_gaps: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// The file in which results are kept
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// Time that everything may take, as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds, default_value = "5m")]
    pub budget: f64,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "hopcost.html")]
    pub html: PathBuf,
    /// Plant distance that is not there, as nodes=2,remote_ns=80: checks the method, not the machine
    #[arg(long, value_name = "SPEC")]
    pub emulate: Option<String>,
    /// Where generated data is kept for the next run [default: the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Load this machine although something is at work here, within bounds as cpus:0-7,mem:8G, and stop
    /// where that suffers; what is left out is all CPUs, and half of the memory that is available
    #[arg(long, value_name = "BOUNDS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = bounds::read)]
    pub allow_load: Option<Allowance>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// The file in which results are kept
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

/// What a script asks of a result.
#[derive(Debug, Default, Args)]
pub struct ChecksArgs {
    /// End with code 4 where this holds, as 'cost > 3%'; may be given again
    #[arg(long, value_name = "EXPR", value_parser = FailIf::read, long_help = help::fail_if())]
    pub fail_if: Vec<FailIf>,
}
