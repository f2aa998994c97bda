//! `hopcost` alone: this machine in a line, what the doctor found, and where to begin.

use hopcost_app::{Outcome, examine, machine};
use hopcost_core::Severity;
use hopcost_view::{plural, svg};

use crate::exit::Exit;
use crate::output;

pub fn run() -> Outcome<Exit> {
    let machine = machine();
    let findings = examine(&machine);
    let warnings = findings.iter().filter(|it| it.severity == Severity::Warning).count();
    let (found, next) = match warnings {
        0 => ("nothing that would distort a measurement".to_owned(), "hopcost survey"),
        n => (plural(n, "warning"), "hopcost doctor"),
    };
    let host = machine.host.get().map_or(String::new(), |host| format!("{host} · "));
    let line = svg::subtitle(&machine);
    output::print(&format!("Machine  {host}{line}\nDoctor   {found}\nNext     {next}\n"))?;
    Ok(Exit::Done)
}
