//! `hopcost report`: shows a stored run.

use hopcost_app::{Outcome, report};
use hopcost_view::{Shown, format};

use super::fail_if;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::output::{self, Output};

pub fn run(args: &ReportArgs) -> Outcome<Exit> {
    let page = report(&args.store, args.run)?;
    let wanted = wanted(args);
    output::can_be_shown(&wanted)?;
    let result = page.result();
    if let Err(what_is_missing) = &result {
        output::remark(what_is_missing.as_str());
    }
    page.show(|page| output::show(&wanted, &Shown::Report(page)))?;
    Ok(result.map_or(Exit::Done, |result| fail_if::exit(&args.checks, result)))
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
