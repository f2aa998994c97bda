//! `hopcost doctor`: what would distort a measurement here.

use hopcost_app::{Outcome, examine, machine};
use hopcost_core::{Finding, Severity};
use hopcost_view::text;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed {
    version: u32,
    findings: Vec<Finding>,
}

pub fn run(args: &DoctorArgs) -> Outcome<Exit> {
    let findings = examine(&machine());
    let warned = findings.iter().any(|finding| finding.severity == Severity::Warning);
    if args.json {
        output::print_json(&Printed { version: 1, findings })?;
    } else {
        output::print(&text::doctor(&findings, output::columns()))?;
    }
    Ok(if warned { Exit::Failed } else { Exit::Done })
}
