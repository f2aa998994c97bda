//! `hopcost`: what distance costs your database, on your machine.

mod args;
mod commands;
mod exit;
mod experiment_name;
mod interrupt;
mod output;
mod own;
mod progress;
mod safety;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    if let Some(code) = hopcost_kit::targets::duckdb::serve_if_asked() {
        return code;
    }
    // Before the store opens: SQLite takes this only before its first use.
    hopcost_kit::targets::sqlite::prepare();
    let outcome = match Cli::parse().command {
        Command::Machine(args) => commands::machine::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Where(args) => commands::whereabouts::run(&args),
        Command::Probe(args) => commands::probe::run(&args),
        Command::List => commands::list::run(),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Survey(args) => commands::survey::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Drive(args) => commands::drive::run(&args),
        Command::Load(args) => commands::load::run(&args),
        Command::Restore => commands::restore::run(),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_closed_pipe() => Exit::Done.into(),
        Err(failure) => {
            output::complain(&failure);
            failure.exit.into()
        }
    }
}
