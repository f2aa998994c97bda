//! The line that names the next command, for a person at a terminal.

use std::io::IsTerminal;

use crate::args::Command;
use crate::output;

/// What usually follows a command that succeeded.
pub fn after(command: &Command) -> Option<String> {
    let next = match command {
        Command::Machine(_) => "hopcost doctor".to_owned(),
        Command::Doctor(_) | Command::Probe(_) => "hopcost survey".to_owned(),
        Command::Where(_) => "hopcost run remote-memory --target URL".to_owned(),
        Command::List { .. } => "hopcost plan NAME".to_owned(),
        Command::Plan(args) => format!("hopcost run {}", args.experiment.name),
        Command::Run(_) => "hopcost report --html FILE".to_owned(),
        Command::Load(_) => "hopcost drive TARGET --workload NAME".to_owned(),
        Command::Drive(_) => "hopcost run NAME --target TARGET".to_owned(),
        Command::Report(_) => "hopcost compare A.db B.db".to_owned(),
        _ => return None,
    };
    Some(next)
}

/// On stderr, so that output that goes into a file or a pipe is complete without it.
pub fn show(next: &str) {
    if std::io::stderr().is_terminal() && std::io::stdout().is_terminal() {
        output::note(&format!("Next  {next}"));
    }
}
