//! `hopcost probe`: measures the hardware.

use std::sync::atomic::Ordering;

use hopcost_app::{App, Event, Outcome, ProbeResult, ProbesResult, machine};
use hopcost_core::{Machine, Outcome as Figure};
use hopcost_view::text;
use serde::Serialize;

use super::attended;
use super::restore::describe;
use crate::args::ProbeArgs;
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    machine: &'a Machine,
    #[serde(flatten)]
    result: &'a ProbesResult,
}

pub fn run(app: &App, args: &ProbeArgs) -> Outcome<Exit> {
    let machine = machine();
    let mut printed = Ok(());
    let show = |event: &Event<'_>| {
        if args.json || printed.is_err() {
            return;
        }
        printed = match event {
            Event::Probed(found) => show(found),
            Event::NotProbed(name, reason) => {
                output::print(&format!("{name:<11}not here: {reason}\n\n"))
            }
            _ => Ok(()),
        };
    };
    let (result, is_stopped) = attended(show, |control| {
        let result = app.probe(&args.request(), &machine, control)?;
        Ok((result, control.stop.load(Ordering::Relaxed)))
    })?;
    printed?;
    for restored in &result.restored {
        output::remark(&describe(restored));
    }
    if args.json {
        output::print_json(&Printed { version: 1, machine: &machine, result: &result })?;
    }
    Ok(if is_stopped { Exit::Interrupted } else { exit(&result, args.accept_gaps) })
}

/// In this order: a probe failed; figures are void; the host was busy; no figure could be measured.
fn exit(result: &ProbesResult, accepts_gaps: bool) -> Exit {
    let cells = result.probes.iter().flat_map(|probe| &probe.report.cells);
    let mut figures = cells.map(|cell| &cell.outcome);
    if result.has_failed || figures.clone().any(|figure| matches!(figure, Figure::Void(_))) {
        Exit::Failed
    } else if !accepts_gaps && result.probes.iter().any(|probe| probe.report.is_disturbed()) {
        Exit::Disturbed
    } else if figures.any(|figure| matches!(figure, Figure::Measured { .. })) {
        Exit::Done
    } else {
        Exit::NotHere
    }
}

fn show(found: &ProbeResult) -> Outcome<()> {
    let columns = output::columns();
    let report = text::probe_report(&found.report, columns);
    let beside = text::published(&found.published, columns);
    output::print(&format!("{report}{beside}\n"))
}
