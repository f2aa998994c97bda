//! `hopcost drive`: runs a workload without a comparison.

use std::fmt::Write as _;

use hopcost_app::{App, DriveResult, Latency, Outcome};
use hopcost_view::{count, figure, plural};
use serde::Serialize;

use super::attended;
use crate::args::DriveArgs;
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    #[serde(flatten)]
    result: &'a DriveResult,
}

pub fn run(app: &App, args: &DriveArgs) -> Outcome<Exit> {
    let result = attended(|_| {}, |control| app.drive(&args.request(), control))?;
    if args.data.json {
        output::print_json(&Printed { version: 1, result: &result })?;
    } else {
        output::print(&text(&result))?;
    }
    // If every call failed, nothing was measured.
    let has_answers = result.calls == 0 || result.errors < result.calls;
    Ok(match (result.interrupted, has_answers) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    })
}

fn text(result: &DriveResult) -> String {
    let mut text = String::new();
    let us = |ns: f64| figure(ns / 1000.0);
    let Latency { mean, p50, p95, p99 } = result.latency_ns;
    let (calls, seconds) = (count(result.calls), figure(result.seconds));
    let per_s = count(result.calls_per_s.round() as u64);
    let threads = plural(result.threads, "thread");
    let _ =
        writeln!(text, "{per_s} calls a second of {} ({calls} in {seconds} s)", result.workload);
    let _ = writeln!(text, "  clients   {}, on {threads}", result.clients);
    let _ = writeln!(
        text,
        "  latency   {} µs on average, {} at the median, {} at 95%, {} at 99%",
        us(mean),
        us(p50),
        us(p95),
        us(p99)
    );
    let _ = writeln!(text, "  own CPU   {} µs a call", figure(result.own_cpu_us_per_call));
    if result.errors > 0 {
        let first = result.first_error.as_deref().unwrap_or("no words");
        let _ = writeln!(text, "  failed    {} calls, the first: {first}", count(result.errors));
    }
    let _ = writeln!(text, "  database  {}", result.identity);
    for note in &result.notes {
        let _ = writeln!(text, "  note      {note}");
    }
    text
}
