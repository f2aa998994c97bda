//! `hopcost`: what distance costs your database, on your machine.

mod args;
mod commands;
mod enough;
mod environment;
mod exit;
mod experiment_name;
mod help;
mod interrupt;
mod next;
mod output;
mod progress;
mod requests;

use std::process::ExitCode;

use clap::Parser;
use hopcost_app::{App, Failure, Outcome};
use hopcost_core::Code;

use args::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    if let Some(code) = hopcost_app::hosted_process() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(wrong) => return refuse(&wrong),
    };
    let app = environment::app();
    let next = cli.command.as_ref().and_then(next::after);
    let outcome = cli.command.map_or_else(commands::overview::run, |it| dispatch(&app, it));
    match outcome {
        Ok(exit) => {
            if let Some(next) = next.filter(|_| exit == Exit::Done && !is_json_wanted()) {
                next::show(&next);
            }
            exit.into()
        }
        Err(failure) if failure.is_closed_pipe() => Exit::Done.into(),
        Err(failure) => {
            output::remark(&failure.to_string());
            tell(&failure);
            Exit::from(&failure).into()
        }
    }
}

fn dispatch(app: &App, command: Command) -> Outcome<Exit> {
    match command {
        Command::Machine(args) => commands::machine::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Where(args) => commands::whereabouts::run(&args),
        Command::Probe(args) => commands::probe::run(app, &args),
        Command::List { all, json } => commands::list::run(app, all, json),
        Command::Plan(args) => commands::plan::run(app, &args),
        Command::Run(args) => commands::run::run(app, &args),
        Command::Survey(args) => commands::survey::run(app, &args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Drive(args) => commands::drive::run(app, &args),
        Command::Load(args) => commands::load::run(app, &args),
        Command::Restore => commands::restore::run(app),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}

fn refuse(wrong: &clap::Error) -> ExitCode {
    // Ignore a closed terminal.
    let _ = wrong.print();
    if !wrong.use_stderr() {
        return Exit::Done.into();
    }
    let words = wrong.to_string();
    let line = words.lines().next().unwrap_or_default().trim_start_matches("error: ");
    tell(&Failure::usage(Code::BadOption, line));
    Exit::Usage.into()
}

/// With `--json`, also prints it as JSON.
fn tell(failure: &Failure) {
    if is_json_wanted() {
        let _ = output::print_json(&exit::to_json(failure));
    }
}

fn is_json_wanted() -> bool {
    let arguments: Vec<_> = std::env::args_os().collect();
    arguments.iter().any(|word| word == "--json" || word == "--format=json")
        || arguments.windows(2).any(|words| words[0] == "--format" && words[1] == "json")
}
