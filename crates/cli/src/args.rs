//! The command line. Its spelling is a contract.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hopcost_app::catalogue::{dataset_names, probe_names, workload_names};
use hopcost_core::{CpuSet, Effort, NodeSet, PageSize};
use hopcost_method::bounds::{self, Allowance};
use hopcost_method::fail_if::FailIf;
use hopcost_method::overrides;

use crate::experiment_name::ExperimentName;
use crate::help;
use crate::output::FormatArgs;

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 something failed (doctor: found something to mend), 2 wrong use,
3 this machine cannot do it, 4 a --fail-if is crossed, 5 others were at work (try again later),
130 interrupted and everything put back.
Colours follow the terminal; NO_COLOR=1 switches them off.";

/// What distance costs your database, on your machine: remote memory, another socket, a sibling
/// thread, a far log writer. Measured, with proof of placement and honest intervals.
#[derive(Debug, Parser)]
#[command(name = "hopcost", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this machine is: sockets, cores, caches, memory nodes, distances, limits
    Machine(MachineArgs),
    /// Look for what would spoil a measurement here, and say what mends it
    Doctor(DoctorArgs),
    /// Show where a running database really is: its processes, their CPUs, its memory by node
    Where(WhereArgs),
    /// Measure the hardware: memory latency and bandwidth, core to core, switches, a commit log
    Probe(ProbeArgs),
    /// List experiments, probes and data sets, and what of them applies here
    List {
        /// List, too, which settings of an experiment each database accepts
        #[arg(long)]
        all: bool,
        /// Print JSON (keys: docs/JSON.md)
        #[arg(long)]
        json: bool,
    },
    /// Show what a run would do: order, time, memory, and what it would leave out
    #[command(mut_arg("name", |name| name
        .required(false)
        .required_unless_present("sql")
        .default_value_if("sql", "true", EVERYTHING)))]
    Plan(PlanArgs),
    /// Run an experiment, from its file to a verdict
    Run(RunArgs),
    /// Measure what matters on this machine within a few minutes, and put it on one page
    Survey(SurveyArgs),
    /// Show a stored run again, without measuring
    Report(ReportArgs),
    /// Hold two machines against each other by what was kept of them, without measuring
    Compare(CompareArgs),
    /// Load a database with calls for a while, and say what came of it
    Drive(DriveArgs),
    /// Load a data set into a database, and say how fast
    Load(LoadArgs),
    /// Put back what a killed run left changed or made
    Restore,
    /// Print what makes a shell complete hopcost's commands and options
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long, conflicts_with = "svg")]
    pub json: bool,
    /// Draw the machine into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Read a recorded machine: a directory with sys/ and proc/ in it, or a .tree file
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
    /// Record this machine into a new directory, or into one file if the name ends in .tree
    #[arg(long, value_name = "DIR", conflicts_with = "sysfs")]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WhereArgs {
    /// A server's address as postgres://user@host/database, a process's number, or a kind of server, as
    /// postgres or mysql: all of that kind on this host
    #[arg(value_name = "TARGET", value_parser = NonEmptyStringValueParser::new())]
    pub target: String,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Which probes; if none is named, those that do not have to be asked for by name
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(probe_names()))]
    pub names: Vec<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Time that each probe may take, as 2s [default: 20s; 6s with --quick, 90s with --full]
    ///
    /// Six rounds of samples are taken however long they take: an interval needs as many.
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub budget: Option<f64>,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    /// Only these CPUs, as 0-3,8
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Only these memory nodes, as 0,2
    #[arg(long, value_name = "LIST", value_parser = node_list)]
    pub nodes: Option<NodeSet>,
    /// Memory to walk, as 64M or 2G (latency walks it and twice it; bandwidth has it per thread)
    #[arg(long, value_name = "BYTES", value_parser = overrides::bytes)]
    pub size: Option<u64>,
    /// Distance between two visited lines of the latency probe, a multiple of 64
    #[arg(long, value_name = "BYTES", value_parser = stride)]
    pub stride: Option<u64>,
    /// Pages to put memory on; without it, the largest that are ready
    #[arg(long, value_enum)]
    pub pages: Option<Pages>,
    /// Where the log probe writes its file
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub log_dir: PathBuf,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Let hopcost reserve huge pages for --pages 2m or 1g; written down before, put back after
    #[arg(long)]
    pub allow_machine_changes: bool,
    /// Ends with 0 where a probe has no figure, as others were at work, and not with 5
    #[arg(long)]
    pub accept_gaps: bool,
}

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

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's number; the latest without it
    pub run: Option<i64>,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long, group = "form")]
    pub json: bool,
    /// Write a page into this file: complete in itself, for any browser
    #[arg(long, value_name = "FILE", group = "form", conflicts_with = "format")]
    pub html: Option<PathBuf>,
    /// Print a line of comma-separated values
    #[arg(long, group = "form", conflicts_with = "format")]
    pub csv: bool,
    /// Print Markdown, as for a comment on a change
    #[arg(long, group = "form", conflicts_with = "format")]
    pub markdown: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// The file in which results are kept
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

/// Two machines, or one on two occasions.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first: a store, with the latest run of each experiment; or one run, as a number or as an
    /// experiment's name for the latest, of --store or as STORE:RUN
    #[arg(value_name = "A", value_parser = NonEmptyStringValueParser::new())]
    pub a: String,
    /// The second, which is said to be faster or slower
    #[arg(value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub b: String,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    /// The file in which runs are looked for that name none
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

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

/// What a script asks of a result.
#[derive(Debug, Default, Args)]
pub struct ChecksArgs {
    /// End with code 4 where this holds, as 'cost > 3%'; may be given again
    #[arg(long, value_name = "EXPR", value_parser = FailIf::read, long_help = help::fail_if())]
    pub fail_if: Vec<FailIf>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The shells that can be taught.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The directory to write them to, one page per command
    pub dir: PathBuf,
}

const STORE: &str = "hopcost.db";

/// How much time and detail.
#[derive(Debug, Args)]
pub struct EffortArgs {
    /// Seconds per step: the headline figures
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Minutes per step: every variant, tight intervals
    #[arg(long)]
    full: bool,
}

impl EffortArgs {
    pub fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Normal,
        }
    }
}

/// The pages that can be asked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Pages {
    /// The base page, 4 KiB on x86
    #[value(name = "4k")]
    Base,
    /// Transparent huge pages
    Transparent,
    /// Reserved 2 MiB pages
    #[value(name = "2m")]
    Huge2M,
    /// Reserved 1 GiB pages
    #[value(name = "1g")]
    Huge1G,
}

impl From<Pages> for PageSize {
    fn from(pages: Pages) -> Self {
        match pages {
            Pages::Base => Self::Base,
            Pages::Transparent => Self::Transparent,
            Pages::Huge2M => Self::Huge2M,
            Pages::Huge1G => Self::Huge1G,
        }
    }
}

fn cpu_list(text: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(text).map_err(|error| error.to_string())
}

fn node_list(text: &str) -> Result<NodeSet, String> {
    NodeSet::parse_list(text).map_err(|error| error.to_string())
}

fn stride(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(bytes) if bytes > 0 && bytes % 64 == 0 && bytes <= 1 << 20 => Ok(bytes),
        _ => Err("a multiple of 64 up to 1048576".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
