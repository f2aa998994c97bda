//! What the probes of the hardware found: matrices as heat maps, counts as curves, the rest as tables.

use std::fmt::Write as _;

use hopcost_core::{CellResult, Estimate, Outcome, Warning};

use super::table::{Column, aligned, published, table};
use super::{figure, list};
use crate::charts;
use crate::page::Probed;
use crate::series::{Absences, OfClass, Shape, classes, is_absent_rung, relative_margins, shapes};
use crate::text;
use crate::words::{has_interval, spoken};
use crate::xml::escape;

/// All probes; nothing where none ran.
pub fn probes(probes: &[Probed<'_>]) -> String {
    if probes.is_empty() {
        return String::new();
    }
    let parts: String = probes.iter().map(probe).collect();
    format!("<section id=\"probes\">\n<h2>Probes</h2>\n{parts}</section>\n")
}

fn probe(probed: &Probed<'_>) -> String {
    let report = probed.report;
    let mut out = format!(
        "<h3>{}</h3>\n<p>{}<br><span class=\"faint\">{}</span></p>\n",
        escape(&spoken(&report.probe)),
        escape(&report.question),
        escape(&text::facts(report).join(" · "))
    );
    let (mut charts, mut tables) = (String::new(), String::new());
    for shape in shapes(report) {
        match &shape {
            Shape::Matrix { series, cells } => {
                let about = match relative_margins(cells) {
                    Some((low, high)) => format!(
                        "who measures in rows, what is measured in columns; half of the 95 % \
                         intervals is {low:.1} to {high:.1} % of each figure"
                    ),
                    None => String::new(),
                };
                charts.push_str(&figure(series, &about, &charts::matrix(series, cells)));
                tables.push_str(&class_table(cells));
            }
            Shape::Curve { series, cells } => {
                let about = "with intervals";
                charts.push_str(&figure(series, about, &charts::curve(series, cells)));
            }
            Shape::List { cells } => tables.push_str(&cell_table(cells)),
        }
    }
    if !charts.is_empty() {
        let _ = write!(out, "<div class=\"charts\">\n{charts}</div>\n");
    }
    out.push_str(&tables);
    out.push_str(&remarks(probed));
    out.push_str(&published(&probed.published));
    out
}

/// A matrix by how far its places are apart, where there is more than one distance.
fn class_table(cells: &[&CellResult]) -> String {
    let classes = classes(cells);
    if classes.len() < 2 {
        return String::new();
    }
    let column = |of: fn(&OfClass) -> f64| -> Vec<String> {
        aligned(&classes.iter().map(|class| Some(of(class))).collect::<Vec<_>>())
    };
    let (medians, least, most) = (column(|c| c.median), column(|c| c.least), column(|c| c.most));
    let row = |(n, of): (usize, &OfClass)| {
        let (median, least, most) = (medians[n].clone(), least[n].clone(), most[n].clone());
        vec![of.class.to_string(), median, least, most, of.pairs.to_string()]
    };
    let rows: Vec<Vec<String>> = classes.iter().enumerate().map(row).collect();
    let name = format!("{}, {}", cells[0].cell.series, cells[0].cell.unit);
    let head = [
        (name.as_str(), Column::Words),
        ("median", Column::Figures),
        ("least", Column::Figures),
        ("most", Column::Figures),
        ("pairs", Column::Figures),
    ];
    table(&head, &rows)
}

/// A line a cell.
fn cell_table(cells: &[&CellResult]) -> String {
    let here: Vec<&CellResult> =
        cells.iter().copied().filter(|cell| !is_absent_rung(cells.iter().copied(), cell)).collect();
    let estimates: Vec<_> = here.iter().map(|cell| cell.estimate()).collect();
    // One unit, one column of decimals.
    let column = |of: fn(&Estimate) -> Option<f64>| -> Vec<String> {
        aligned(&estimates.iter().map(|e| e.and_then(of)).collect::<Vec<_>>())
    };
    let (points, rounds) = (column(|e| Some(e.point)), column(|e| Some(e.n_effective)));
    let lows = column(|e| has_interval(e).then_some(e.low));
    let highs = column(|e| has_interval(e).then_some(e.high));
    let row = |(n, cell): (usize, &&CellResult)| {
        let figure = match &cell.outcome {
            Outcome::Void(_) => "void".to_owned(),
            _ => points[n].clone(),
        };
        let at = [&cell.cell.row, &cell.cell.column].map(ToString::to_string);
        let at = if at[0] == at[1] { at[0].clone() } else { at.join(" → ") };
        let (low, high, rounds) = (lows[n].clone(), highs[n].clone(), rounds[n].clone());
        vec![cell.cell.series.clone(), at, figure, low, high, cell.cell.unit.to_string(), rounds]
    };
    let rows: Vec<Vec<String>> = here.iter().enumerate().map(row).collect();
    let head = [
        ("series", Column::Words),
        ("from → to", Column::Words),
        ("median", Column::Figures),
        ("from", Column::Figures),
        ("to", Column::Figures),
        ("unit", Column::Words),
        ("rounds", Column::Figures),
    ];
    table(&head, &rows)
}

/// What is missing, and what the reader should know.
fn remarks(probed: &Probed<'_>) -> String {
    let Absences { rungs, reasons } = Absences::of(probed.report);
    let mut texts: Vec<String> =
        reasons.into_iter().map(|(mark, text)| format!("{mark} {text}")).collect();
    if !rungs.is_empty() {
        texts.push(format!("Not on this machine: {}.", rungs.join(", ")));
    }
    let warning = |warning: &Warning| format!("! {}: {}", warning.text, warning.advice);
    texts.extend(probed.report.warnings.iter().map(warning));
    if probed.report.interrupted {
        texts.push("It was stopped before its end; what was measured so far is shown.".to_owned());
    }
    list(texts.iter().map(String::as_str))
}
