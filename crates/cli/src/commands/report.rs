//! `hopcost report`: shows a stored run again. It never measures.

use std::fmt::Write as _;

use anyhow::Context;
use hopcost_core::Code;
use hopcost_store::{Listed, Store};
use hopcost_view::format;

use super::fail_if;
use super::page::Page;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};

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
    let wanted = wanted(args);
    output::can_be_shown(&wanted)?;
    if kept.result.is_none() {
        let why = kept.failure.as_ref().map_or(String::new(), |failure| format!(" ({failure})"));
        output::remark(&format!(
            "run {id} was not finished{why}; what it had is shown: {}, {}",
            hopcost_view::plural(kept.blocks as usize, "block"),
            hopcost_view::plural(kept.reports.len(), "probe")
        ));
    }
    let page = Page::of(&store, &[id]).with_context(place)?;
    page.show_as(&wanted)?;
    Ok(kept.result.map_or(Exit::Done, |result| fail_if::exit(&args.checks, &result)))
}

fn wanted(args: &ReportArgs) -> Vec<Output> {
    let asked =
        [(args.csv, &format::CSV), (args.markdown, &format::MARKDOWN), (args.json, &format::JSON)];
    if let Some(path) = &args.html {
        return vec![Output::written(&format::HTML, path)];
    }
    if let Some((_, format)) = asked.into_iter().find(|(is_asked, _)| *is_asked) {
        return vec![Output::printed(format)];
    }
    match args.format.format.as_slice() {
        [] => vec![Output::printed(&format::TERMINAL)],
        formats => formats.to_vec(),
    }
}

/// What runs there are, for who asked for another.
pub fn listed(runs: &[Listed]) -> String {
    let mut out = String::from("kept are");
    for run in runs.iter().take(8) {
        let _ = write!(out, " {} ({})", run.id, run.experiment);
    }
    out
}
