//! What is asked of the machine itself.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, ValueEnum};
use hopcost_app::catalogue::probe_names;
use hopcost_core::{CpuSet, NodeSet, PageSize};
use hopcost_method::overrides;
use hopcost_method::pace::StartsAsked;

use super::shared::{EffortArgs, STORE, cpu_list, starts};

#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long, conflicts_with = "svg")]
    pub json: bool,
    /// Draw the machine as SVG into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Read a recorded machine: a directory that contains sys/ and proc/, or a .tree file
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
    /// Record this machine into a new directory, or into a single file if the name ends in .tree
    #[arg(long, value_name = "DIR", conflicts_with = "sysfs")]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WhereArgs {
    /// Server URL, e.g. postgres://user@host/database, a process ID, or a kind of server, e.g.
    /// postgres or mysql (all servers of that kind on this host)
    #[arg(value_name = "TARGET", value_parser = NonEmptyStringValueParser::new())]
    pub target: String,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// Probes to run [default: all except those that run only if named]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(probe_names()))]
    pub names: Vec<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Starts of each probe, 1 or 6 to 100: hopcost is executed anew for each of them
    /// [default: 8; 6 with --quick, 20 with --full, 1 with a --budget below 3s]
    #[arg(long, value_name = "N", value_parser = starts)]
    pub starts: Option<StartsAsked>,
    /// Time per probe, e.g. 2s [default: 20s; 6s with --quick, 90s with --full]
    ///
    /// Each start takes a round of samples at least, however long that takes; one start alone takes
    /// six, because an interval needs them.
    #[arg(long, value_name = "TIME", value_parser = overrides::seconds)]
    pub budget: Option<f64>,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
    /// Use only these CPUs, e.g. 0-3,8
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    pub cpus: Option<CpuSet>,
    /// Use only these memory nodes, e.g. 0,2
    #[arg(long, value_name = "LIST", value_parser = node_list)]
    pub nodes: Option<NodeSet>,
    /// Memory to use, e.g. 64M or 2G (latency: also twice that; bandwidth: per thread)
    #[arg(long, value_name = "BYTES", value_parser = overrides::bytes)]
    pub size: Option<u64>,
    /// Distance between the cache lines that the latency probe visits, a multiple of 64
    #[arg(long, value_name = "BYTES", value_parser = stride)]
    pub stride: Option<u64>,
    /// Page size of the memory [default: the largest available]
    #[arg(long, value_enum)]
    pub pages: Option<Pages>,
    /// Directory for the file of the log probe
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub log_dir: PathBuf,
    /// Seed for all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// SQLite file with earlier runs on this host; only read, to learn how much figures differ from
    /// hour to hour
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
    /// Let hopcost reserve huge pages for --pages 2m or 1g; the old value is restored on exit
    #[arg(long)]
    pub allow_machine_changes: bool,
    /// Exit with code 0, not 5, if a probe has no figure because other work was active
    #[arg(long)]
    pub accept_gaps: bool,
}

/// Page sizes for `--pages`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Pages {
    /// Base pages, 4 KiB on x86
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

fn node_list(text: &str) -> Result<NodeSet, String> {
    NodeSet::parse_list(text).map_err(|error| error.to_string())
}

fn stride(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(bytes) if bytes > 0 && bytes % 64 == 0 && bytes <= 1 << 20 => Ok(bytes),
        _ => Err("a multiple of 64 up to 1048576".into()),
    }
}
