//! The first screen: what was found, what to do, this machine, the verdicts, and how far to trust them.

use std::fmt::Write as _;

use hopcost_core::{Code, Estimate, ExperimentResult, Known, Verdict};

use super::section::place;
use super::{figure, prose, trust};
use crate::charts::{Kind, Row, effect};
use crate::findings::sentences;
use crate::page::{Page, Section};
use crate::svg;
use crate::words::{cost_of, duration, headline, moment, stamped_verdict};
use crate::xml::escape;

/// All of it.
pub fn front(page: &Page<'_>) -> String {
    let said = sentences(page);
    let mut out = format!(
        "<header class=\"front\">\n{}<h1>{}</h1>\n<p class=\"action\">{}</p>\n",
        masthead(page),
        prose(&said.found),
        prose(&said.action)
    );
    let _ = write!(
        out,
        "<div class=\"split\"><div>{}{}{}</div><div>{}{}</div></div>\n</header>\n",
        verdicts(&page.sections),
        others(&page.sections),
        not_tested(page),
        machine(page),
        trust(page)
    );
    out
}

/// How far the figures can be trusted.
fn trust(page: &Page<'_>) -> String {
    let mut facts = String::new();
    for (name, words) in trust::facts(page) {
        let _ = write!(facts, "<div><dt>{name}</dt><dd>{}</dd></div>", prose(&words));
    }
    format!("<dl class=\"trust\">{facts}</dl>\n")
}

/// What it is, of which machine, when, and what a reader must not overlook.
fn masthead(page: &Page<'_>) -> String {
    let host = match &page.host {
        Known::Is(host) => host.clone(),
        Known::Missing(_) => "unnamed host".to_owned(),
    };
    let facts = format!(
        "<strong>{}</strong> · {} · {} · took {}",
        escape(&page.title),
        escape(&host),
        moment(page.begun_unix_s),
        duration(page.seconds)
    );
    let mut stamps = String::new();
    for (is_so, word) in [(trust::is_emulated(page), "EMULATED"), (page.interrupted, "INTERRUPTED")]
    {
        if is_so {
            let _ = write!(stamps, " <span class=\"stamp\">{word}</span>");
        }
    }
    format!("<p class=\"mast\">{facts}{stamps}</p>\n")
}

/// A refused figure stands in no picture of verdicts.
fn cost_that_counts(result: &ExperimentResult) -> Option<&Estimate> {
    cost_of(result).filter(|_| result.verdict != Verdict::Refused)
}

/// Every comparison on one axis.
fn verdicts(sections: &[Section<'_>]) -> String {
    let row = |section: &Section<'_>| {
        let result = section.result;
        Some(Row {
            label: format!("{}  {}", result.experiment, stamped_verdict(result)),
            link: Some(place(section)),
            cost: *cost_that_counts(result)?,
            kind: if result.emulated { Kind::Emulated } else { Kind::Estimate },
            margin: section.margin,
        })
    };
    let rows: Vec<Row> = sections.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let about = if rows.iter().any(|row| row.margin.is_some()) {
        "cost with its interval; inside the grey band nothing matters"
    } else {
        "cost with its interval"
    };
    figure("Verdicts", about, &effect("Verdicts", &rows))
}

/// What has no cost: figures with their spread, refusals, what does not apply.
fn others(sections: &[Section<'_>]) -> String {
    let mut items = String::new();
    for section in sections.iter().filter(|section| cost_that_counts(section.result).is_none()) {
        let result = section.result;
        let words = match &result.estimate {
            _ if result.verdict == Verdict::Refused => result.reason.to_string(),
            Known::Is(figure) => format!("{} ({})", headline(figure), figure.of),
            Known::Missing(reason) => reason.to_string(),
        };
        let _ = write!(
            items,
            "<li><a href=\"#{}\"><b>{}</b></a> <span class=\"verdict\">{}</span> <span>{}</span></li>",
            place(section),
            escape(&result.experiment),
            stamped_verdict(result),
            escape(&words)
        );
    }
    if items.is_empty() { items } else { format!("<ul class=\"plain others\">{items}</ul>\n") }
}

/// What was not measured, why, and how long it would take.
fn not_tested(page: &Page<'_>) -> String {
    let mut items = String::new();
    for left in &page.not_tested {
        let takes =
            left.takes_s.map_or(String::new(), |s| format!(" It would take {}.", duration(s)));
        let _ = write!(
            items,
            "<li><b>{}</b> {}.{takes}</li>",
            escape(&left.what),
            escape(left.why.trim_end_matches('.'))
        );
    }
    for section in &page.sections {
        let Some(names) = left_out(section) else { continue };
        let _ = write!(
            items,
            "<li><b>{}</b> {} (<a href=\"#{}\">why</a>)</li>",
            escape(&section.result.experiment),
            escape(&names),
            place(section)
        );
    }
    if items.is_empty() {
        items.push_str("<li>Nothing was left out.</li>");
    }
    format!("<div class=\"aside\"><h2>Not tested</h2><ul class=\"plain\">{items}</ul></div>\n")
}

/// What an experiment left out of itself, by name; the reasons stand in its own section.
fn left_out(section: &Section<'_>) -> Option<String> {
    let details = section.result.details.as_ref().filter(|it| !it.left_out.is_empty())?;
    let name =
        |text: &String| text.split_once(": ").map_or(text.clone(), |(name, _)| name.to_owned());
    Some(details.left_out.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn machine(page: &Page<'_>) -> String {
    let Known::Is(machine) = &page.machine else {
        let reason = page.machine.reason().map_or("", |reason| reason.as_str());
        return figure("This machine", "", &Known::missing(Code::NotMeasured, reason.to_owned()));
    };
    let name = page.host.get().map_or("This machine", String::as_str);
    let real = if trust::is_emulated(page) { " · without its emulated nodes" } else { "" };
    let about = svg::subtitle(machine) + real;
    figure(name, &about, &Known::Is(svg::overview(machine)))
}
