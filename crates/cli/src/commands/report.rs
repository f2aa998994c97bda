//! `hopcost report`: shows a stored run again. It never measures.

use std::fmt::Write as _;

use anyhow::Context;
use hopcost_store::{Listed, Store};
use hopcost_view::text;

use super::run;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let place = || args.store.display().to_string();
    let store = Store::open_existing(&args.store).with_context(place)?;
    let runs = store.runs().with_context(place)?;
    let Some(id) = args.run.or_else(|| runs.first().map(|run| run.id)) else {
        return Err(Failure::usage(format!("{}: no run is kept here yet", place())));
    };
    let Some(kept) = store.run(id).with_context(place)? else {
        return Err(Failure::usage(format!(
            "{}: there is no run {id}; {}",
            place(),
            listed(&runs)
        )));
    };
    if let Some(result) = &kept.result {
        run::show(id, result, &kept.reports, args.json)?;
        return Ok(run::exit(result.verdict));
    }
    output::remark(&format!("run {id} was not finished; what it had is shown"));
    if args.json {
        output::print_json(&kept.reports)?;
    } else {
        let columns = output::columns();
        let reports = kept.reports.iter().map(|report| text::probe_report(report, columns));
        output::print(&reports.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Done)
}

fn listed(runs: &[Listed]) -> String {
    let mut out = String::from("kept are");
    for run in runs.iter().take(8) {
        let _ = write!(out, " {} ({})", run.id, run.experiment);
    }
    out
}
