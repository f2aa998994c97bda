//! `hopcost doctor`: what would spoil a measurement here.

use std::time::Duration;

use hopcost_core::{Finding, Known, Machine, Severity};
use hopcost_host::checks::{self, Surroundings};
use hopcost_sys::{Root, activity, topology};
use hopcost_view::text;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Long enough for a hundred of the kernel's ticks: one of them is 1 % of a CPU.
const WATCHED: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Report {
    version: u32,
    findings: Vec<Finding>,
}

/// What it finds. It takes a second.
pub fn examine(root: &Root, machine: &Machine) -> Vec<Finding> {
    let activity = Known::Is(activity::watch(WATCHED));
    checks::examine_all(&Surroundings { root, machine, activity })
}

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let root = Root::live();
    let findings = examine(&root, &topology::read(&root));
    let warned = findings.iter().any(|finding| finding.severity == Severity::Warning);
    if args.json {
        output::print_json(&Report { version: 1, findings })?;
    } else {
        output::print(&text::doctor(&findings, output::columns()))?;
    }
    Ok(if warned { Exit::Failed } else { Exit::Done })
}
