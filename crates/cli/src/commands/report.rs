//! `hopcost report`: shows a stored run again. It never measures.

use std::fmt::Write as _;

use anyhow::Context;
use hopcost_core::{Code, ProbeReport};
use hopcost_store::{Listed, Store};
use hopcost_view::text;
use serde::Serialize;

use super::page::Page;
use super::{fail_if, run};
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// What is printed of a run that was killed.
#[derive(Serialize)]
struct Unfinished<'a> {
    version: u32,
    run: i64,
    /// Finished blocks of a comparison.
    blocks: u64,
    /// Why it ended, where it did not just stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    probes: &'a [ProbeReport],
}

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let place = || args.store.display().to_string();
    let store = Store::open_to_read(&args.store).with_context(place)?;
    let runs = store.runs().with_context(place)?;
    let Some(id) = args.run.or_else(|| runs.first().map(|run| run.id)) else {
        return Err(Failure::usage(
            Code::UnknownName,
            format!("{}: no run is kept here yet", place()),
        ));
    };
    let Some(kept) = store.run(id).with_context(place)? else {
        return Err(Failure::usage(
            Code::UnknownName,
            format!("{}: there is no run {id}; {}", place(), listed(&runs)),
        ));
    };
    if let Some(path) = &args.html {
        let page = Page::of(&store, &[id], true).with_context(place)?;
        let bytes = hopcost_view::bytes(page.write(path)?);
        output::remark(&format!("wrote {} ({bytes})", path.display()));
        return Ok(page.exit());
    }
    if args.csv || args.markdown {
        let page = Page::of(&store, &[id], false).with_context(place)?;
        output::print(&if args.csv { page.csv() } else { page.markdown() })?;
        return Ok(page.exit());
    }
    if let Some(result) = &kept.result {
        run::show(id, result, &kept.reports, args.json)?;
        return Ok(fail_if::exit(&args.checks, result));
    }
    let blocks = kept.blocks;
    let why = kept.failure.as_ref().map_or(String::new(), |failure| format!(" ({failure})"));
    output::remark(&format!(
        "run {id} was not finished{why}; what it had is shown: {}, {}",
        hopcost_view::plural(blocks as usize, "block"),
        hopcost_view::plural(kept.reports.len(), "probe")
    ));
    if args.json {
        let failure = kept.failure.as_deref();
        output::print_json(&Unfinished {
            version: 1,
            run: id,
            blocks,
            failure,
            probes: &kept.reports,
        })?;
    } else {
        let columns = output::columns();
        let reports = kept.reports.iter().map(|report| text::probe_report(report, columns));
        output::print(&reports.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Done)
}

/// What runs there are, for who asked for another.
pub fn listed(runs: &[Listed]) -> String {
    let mut out = String::from("kept are");
    for run in runs.iter().take(8) {
        let _ = write!(out, " {} ({})", run.id, run.experiment);
    }
    out
}
