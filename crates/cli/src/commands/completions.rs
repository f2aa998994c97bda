//! `hopcost completions`: shell completions of commands, options and experiments.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};
use clap_complete::{generate, shells};
use hopcost_app::Outcome;

use crate::args::{Cli, CompletionsArgs, Shell};
use crate::exit::Exit;
use crate::output;

pub fn run(args: &CompletionsArgs) -> Outcome<Exit> {
    let (mut command, mut script) = (Cli::command(), Vec::new());
    match args.shell {
        Shell::Bash => generate(shells::Bash, &mut command, "hopcost", &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, "hopcost", &mut script),
        Shell::Fish => {
            generate(shells::Fish, &mut command, "hopcost", &mut script);
            script.extend(names_for_fish(&command).into_bytes());
        }
    }
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// clap_complete leaves out the values of positional arguments for fish.
fn names_for_fish(command: &Command) -> String {
    let mut out = String::new();
    for subcommand in command.get_subcommands() {
        let names =
            subcommand.get_positionals().filter_map(|a| a.get_value_parser().possible_values());
        let names: Vec<String> = names.flatten().map(|name| name.get_name().to_owned()).collect();
        if !names.is_empty() {
            let (of, names) = (subcommand.get_name(), names.join(" "));
            let when = format!("__fish_hopcost_using_subcommand {of}");
            let _ = writeln!(out, "complete -c hopcost -n \"{when}\" -a \"{names}\"");
        }
    }
    out
}
