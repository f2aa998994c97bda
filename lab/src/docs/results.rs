//! Results in documents, in today's words, from stores in fixtures/stores.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use hopcost_app::{Reported, Store};
use hopcost_core::Verdict;
use hopcost_data::experiments::EXPERIMENTS;
use hopcost_view::page::{Page, Section};
use hopcost_view::{
    Canvas, Shown, day, figure_found, format, found, plain, svg, text, verdict_in_words,
};
use xtask::project;
use xtask::tidy::tree::Tree;

use crate::matrix::cells::{Cell, ENGINES, OWN, engines, is_of_sql_server};
use crate::matrix::kept;

const COLUMNS: usize = 80;

/// What a survey of a real machine found, from the store that it left.
pub fn survey(_: &Tree, _: &str) -> Result<String> {
    let store = Store::open_to_read(&project().join("fixtures/stores/survey.db"))?;
    let ids: Vec<i64> = store.runs()?.iter().rev().map(|run| run.id).collect();
    Ok(Reported::of(&store, &ids)?.show(|page| {
        let outcomes = page.sections.iter().map(|it| plain(&text::outcome(it, COLUMNS)));
        let outcomes: String = outcomes.collect();
        format!("On {}:\n\n```\n$ hopcost survey\n{outcomes}```\n", place(page))
    }))
}

/// The machine and the day.
fn place(page: &Page<'_>) -> String {
    format!("{}, {}", machine(page), day(page.begun_unix_s))
}

fn machine(page: &Page<'_>) -> String {
    page.machine.get().map_or_else(String::new, |machine| svg::subtitle(machine))
}

/// The output of a run of the matrix: `audit-cost on postgres`.
pub fn output(_: &Tree, of: &str) -> Result<String> {
    let (experiment, engine) = of.split_once(" on ").unwrap_or((of, OWN));
    let cells = kept::cells()?;
    let Some(cell) = newest(&cells, experiment, engine) else {
        return Ok("(Not run yet.)\n".to_owned());
    };
    Ok(cell.show(|page| {
        let command = page.sections.first().map_or("", |section| &section.command);
        let shown = (format::TERMINAL.of)(&Shown::Report(page), Canvas { columns: COLUMNS });
        format!("On {}:\n\n```\n$ {command}\n{}\n```\n", place(page), plain(&shown).trim_end())
    }))
}

/// Emulated, if the machine could not have it.
fn newest<'c>(cells: &'c [Cell], experiment: &str, engine: &str) -> Option<&'c Cell> {
    let mut all = cells.iter().filter(|it| it.experiment == experiment && it.engine == engine);
    let first = all.next()?;
    let applies = first.show(|page| page.sections[0].result.verdict != Verdict::NotApplicable);
    if applies { Some(first) } else { all.find(|it| it.is_emulated).or(Some(first)) }
}

pub fn matrix(_: &Tree, of: &str) -> Result<String> {
    let cells = kept::cells()?;
    Ok(match of {
        "by engine" => by_engine(&cells),
        "two days" => two_days(&cells),
        _ => in_full(&cells),
    })
}

fn by_engine(cells: &[Cell]) -> String {
    let titles: Vec<&str> =
        ["hopcost's own"].into_iter().chain(ENGINES.map(|(_, title)| title)).collect();
    let mut out = format!("| experiment | {} | SQL Server |\n", titles.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(titles.len() + 2));
    for (name, file) in EXPERIMENTS {
        let asked = engines(name, file);
        let cell = |engine: &str| match newest(cells, name, engine) {
            _ if !asked.contains(&engine) => "–".to_owned(),
            None => "not run yet".to_owned(),
            Some(cell) => cell.show(|page| brief(&page.sections[0])),
        };
        let row: Vec<String> =
            [OWN].into_iter().chain(ENGINES.map(|(engine, _)| engine)).map(cell).collect();
        let sql_server = if is_of_sql_server(name, file) { "experimental" } else { "–" };
        let _ = writeln!(out, "| {name} | {} | {sql_server} |", row.join(" | "));
    }
    out
}

/// `COST −17%`; emulated in italics.
fn brief(section: &Section<'_>) -> String {
    let verdict = verdict_in_words(section.result.verdict, false);
    let is_told = |it: &Verdict| matches!(it, Verdict::Cost | Verdict::Gain | Verdict::Measured);
    let figure = figure_found(section).filter(|_| is_told(&section.result.verdict));
    let figure = figure.map(|it| format!(" {}", it.split(" (").next().unwrap_or_default()));
    let told = verdict + &figure.unwrap_or_default();
    if section.result.emulated { format!("*{told}*") } else { told }
}

fn in_full(cells: &[Cell]) -> String {
    let machines: BTreeSet<String> = cells.iter().map(|cell| cell.show(machine)).collect();
    let machines: Vec<String> = machines.into_iter().collect();
    let mut out = format!("On {}:\n\n", machines.join("; "));
    out.push_str("| experiment | on | result | day, command |\n|---|---|---|---|\n");
    for (name, file) in EXPERIMENTS {
        for cell in engines(name, file).iter().filter_map(|engine| newest(cells, name, engine)) {
            cell.show(|page| out.push_str(&row(page, cell.engine)));
        }
    }
    out
}

fn row(page: &Page<'_>, engine: &str) -> String {
    let section = &page.sections[0];
    let result = section.result;
    let verdict = verdict_in_words(result.verdict, result.emulated);
    let found = found(section).replace('|', "/");
    let day = day(page.begun_unix_s);
    format!(
        "| {} | {engine} | {verdict}: {found} | {day}, `{}` |\n",
        result.experiment, section.command
    )
}

/// Cells that were run on two days, and whether the intervals of their figures have a value in common.
fn two_days(cells: &[Cell]) -> String {
    let mut out =
        String::from("| experiment | on | a day | another day | agree |\n|---|---|---|---|---|\n");
    for (n, last) in cells.iter().enumerate() {
        let before = cells[n + 1..].iter().find(|it| it.is_the_same_as(last));
        let Some(before) = before else { continue };
        let [first, second] = [before, last].map(|cell| {
            cell.show(|page| {
                let figure = figure_found(&page.sections[0]).unwrap_or_default();
                format!("{}: {figure}", day(page.begun_unix_s))
            })
        });
        let agree = match (before.ends(), last.ends()) {
            (Some([low, high]), Some([other_low, other_high])) => {
                if low <= other_high && other_low <= high { "yes" } else { "no" }
            }
            _ => "one has no figure",
        };
        let _ = writeln!(
            out,
            "| {} | {} | {first} | {second} | {agree} |",
            last.experiment, last.engine
        );
    }
    out
}
