//! The command line. Its spelling is a contract.

mod data;
mod experiments;
mod hardware;
mod shared;
mod stored;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use data::{DataArgs, DriveArgs, LoadArgs};
pub use experiments::{ChecksArgs, EVERYTHING, ExperimentArgs, PlanArgs, RunArgs, SurveyArgs};
pub use hardware::{DoctorArgs, MachineArgs, ProbeArgs, WhereArgs};
pub use stored::{CompareArgs, ReportArgs};

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
pub struct CompletionsArgs {
    #[arg(value_enum, help = "The shell")]
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
