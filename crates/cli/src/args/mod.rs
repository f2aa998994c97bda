//! The command line. Its spelling is a contract.

mod data;
mod examples;
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
Exit codes: 0 ok · 1 failed or void · 2 usage · 3 not possible here · 4 --fail-if ·
5 disturbed, try again later · 130 interrupted, changes reverted
Doctor exits with code 1 if it finds something to fix.
Colors are used on a terminal only; NO_COLOR=1 turns them off.";

/// Measure what distance costs your database on your machine: remote memory, another socket, an
/// SMT sibling, a distant log writer. Placement is verified and results have 95% intervals.
#[derive(Debug, Parser)]
#[command(name = "hopcost", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show this machine's sockets, cores, caches, memory nodes, distances and limits
    #[command(after_help = examples::MACHINE)]
    Machine(MachineArgs),
    /// Check for settings and activity that distort measurements, and show how to fix them
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Show where a running database server's processes and memory are
    #[command(after_help = examples::WHERE)]
    Where(WhereArgs),
    /// Measure the hardware: memory, core-to-core latency, context switches, commit log
    #[command(after_help = examples::PROBE)]
    Probe(ProbeArgs),
    /// List experiments, probes and data sets, and which of them this machine can run
    #[command(after_help = examples::LIST)]
    List {
        /// Also list which experiment settings each database accepts
        #[arg(long)]
        all: bool,
        /// Print JSON (keys: docs/reference/json.md)
        #[arg(long)]
        json: bool,
    },
    /// Show what a run would do: order, time, memory, and what would be skipped
    #[command(after_help = examples::PLAN)]
    #[command(mut_arg("name", |name| name
        .required(false)
        .required_unless_present("sql")
        .default_value_if("sql", "true", EVERYTHING)))]
    Plan(PlanArgs),
    /// Run one experiment and print its verdict
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Measure what matters on this machine in 5 minutes and write one HTML page
    #[command(after_help = examples::SURVEY)]
    Survey(SurveyArgs),
    /// Show a stored run again without measuring
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Compare two machines, or two runs, from stored results
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// Run a workload against a database for a while and print throughput and response times
    #[command(after_help = examples::DRIVE)]
    Drive(DriveArgs),
    /// Load a data set into a database and print the load rate
    #[command(after_help = examples::LOAD)]
    Load(LoadArgs),
    /// Restore settings that a killed run changed, and remove what it created
    #[command(after_help = examples::RESTORE)]
    Restore,
    /// Print the shell completion script for hopcost's commands and options
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    #[arg(value_enum, help = "Shell to generate the script for")]
    pub shell: Shell,
}

/// Shells with completion scripts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for the pages, one per command
    pub dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use hopcost_data::advice::RECIPES;
    use hopcost_method::advice::{Recipe, Step};

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Shells take away single quotes.
    fn assert_readable(line: &str) {
        let quoted = line.split('\'').enumerate().flat_map(|(n, part)| match n % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let read = Cli::try_parse_from(quoted);
        assert!(read.is_ok(), "{line}: {read:?}");
        let runs = line.strip_prefix("hopcost run ");
        if let Some(experiment) = runs.and_then(|rest| rest.split(' ').next()) {
            assert!(hopcost_app::catalogue::experiment(experiment).is_ok(), "{line}");
        }
    }

    /// Those that do not measure for long are typed by `servers/cli_rest.rs`.
    #[test]
    fn examples_can_be_read() {
        let mut lines = 0;
        for command in Cli::command().get_subcommands() {
            let Some(after) = command.get_after_help().map(ToString::to_string) else { continue };
            for line in after.lines().filter_map(|line| line.strip_prefix("  hopcost ")) {
                let (words, _) = line.split_once("   ").unwrap_or((line, ""));
                assert_readable(&format!("hopcost {words}"));
                lines += 1;
            }
        }
        assert!(lines > 25, "{lines}");
    }

    /// Recipes tell people to type them.
    #[test]
    fn lines_of_recipes_that_call_hopcost_can_be_read() {
        let mut lines = 0;
        for (name, text) in RECIPES {
            let recipe = Recipe::read(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            let of = |step: &Step| [&step.lines[..], &step.then, &step.check, &step.undo].concat();
            for line in recipe.steps.iter().flat_map(of).filter(|it| it.starts_with("hopcost ")) {
                let words = line.replace("{pid}", "1").replace("{kind}", "postgres");
                let words = words.replace("TARGET", "postgres:managed");
                assert_readable(&words);
                lines += 1;
            }
        }
        assert!(lines > 50, "{lines}");
    }
}
