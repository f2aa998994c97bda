//! `hopcost report`: shows a stored run.

use std::path::Path;
use std::process::{Command, Stdio};

use hopcost_app::{Outcome, report, stored_runs};
use hopcost_view::text::StoredRun;
use hopcost_view::{Shown, format, text};
use serde::Serialize;

use super::fail_if;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::output::{self, Output};

pub fn run(args: &ReportArgs) -> Outcome<Exit> {
    if args.list {
        return list(args);
    }
    let page = report(&args.store, args.run.as_deref())?;
    let wanted = wanted(args);
    output::can_be_shown(&wanted)?;
    let result = page.result();
    if let Err(what_is_missing) = &result {
        output::remark(what_is_missing.as_str());
    }
    page.show(|page| output::show(&wanted, &Shown::Report(page)))?;
    if args.open {
        open(page_file(args));
    }
    Ok(match result {
        Ok(result) => fail_if::exit(&args.checks, result),
        // An unchecked condition has not passed.
        Err(_) if !args.checks.fail_if.is_empty() => Exit::Failed,
        Err(_) => Exit::Done,
    })
}

fn list(args: &ReportArgs) -> Outcome<Exit> {
    #[derive(Serialize)]
    struct Printed {
        version: u32,
        runs: Vec<StoredRun>,
    }
    let runs = stored_runs(&args.store)?;
    if args.json {
        output::print_json(&Printed { version: 1, runs })?;
    } else {
        output::print(&text::runs(&runs, output::columns()))?;
    }
    Ok(Exit::Done)
}

fn page_file(args: &ReportArgs) -> &Path {
    args.html.as_deref().unwrap_or_else(|| Path::new("hopcost-report.html"))
}

/// In the desktop's browser. Where there is none, e.g. on a server, the file is still there.
fn open(page: &Path) {
    let opened = Command::new("xdg-open")
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !opened.is_ok_and(|status| status.success()) {
        let page = page.display();
        output::remark(&format!(
            "no browser could be started here (xdg-open); open {page} yourself"
        ));
    }
}

fn wanted(args: &ReportArgs) -> Vec<Output> {
    let asked =
        [(args.csv, &format::CSV), (args.markdown, &format::MARKDOWN), (args.json, &format::JSON)];
    if args.html.is_some() || args.open {
        return vec![Output::written(&format::HTML, page_file(args))];
    }
    if let Some((_, format)) = asked.into_iter().find(|(is_asked, _)| *is_asked) {
        return vec![Output::printed(format)];
    }
    match args.format.format.as_slice() {
        [] => vec![Output::printed(&format::TERMINAL)],
        formats => formats.to_vec(),
    }
}
