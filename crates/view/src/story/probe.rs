//! A probe: matrices and curves as pictures, the rest as tables.

use std::collections::BTreeSet;

use hopcost_core::{CellResult, Estimate, Locality, Occasion, Outcome, ProbeReport};

use super::block::{Block, Column, Figure, Item, Picture, Table, all_aligned};
use crate::series::{Absences, OfClass, Shape, classes, is_absent_rung, relative_margins, shapes};
use crate::words::{self, count, has_interval, share_found};

/// Without its heading.
pub fn probe(report: &ProbeReport) -> Vec<Block<'_>> {
    let mut blocks =
        vec![Block::sentence(report.question.to_string()), Block::Aside(facts(report))];
    let mut tables = Vec::new();
    let mut pictures = Vec::new();
    for shape in shapes(report) {
        let (name, about) = match &shape {
            Shape::Matrix { series, cells } => {
                tables.extend([class_table(cells)]);
                let about = relative_margins(cells).map_or(String::new(), |(low, high)| {
                    format!(
                        "who measures in rows, what is measured in columns; half of the 95% intervals is \
                         {low:.1} to {high:.1}% of each figure"
                    )
                });
                (*series, about)
            }
            Shape::Curve { series, .. } => (*series, "with intervals".to_owned()),
            Shape::List { cells } => {
                tables.push(cell_table(cells));
                ("", String::new())
            }
        };
        let name = name.to_owned();
        pictures.push(Figure { name, about, picture: Picture::Cells(shape) });
    }
    blocks.push(Block::Figures(pictures));
    for table in tables {
        blocks.extend(table.under(Block::detail("")));
    }
    blocks.push(Block::heading(""));
    blocks.push(Block::List(remarks(report)));
    blocks.retain(|block| !block.is_empty());
    blocks
}

fn facts(report: &ProbeReport) -> Vec<String> {
    let starts = match report.starts {
        1 => String::new(),
        several => format!("{several} starts, "),
    };
    let mut facts = vec![format!("{starts}{} rounds in {:.1} s", report.rounds, report.seconds)];
    let proofs = report.cells.iter().filter_map(|cell| cell.proof.get()).flatten();
    let localities: Vec<&Locality> =
        proofs.filter_map(|proof| proof.memory.get()).flatten().collect();
    let share = |locality: &&&Locality| locality.share_in_place();
    if let Some(worst) = localities.iter().min_by(|a, b| share(a).total_cmp(&share(b))) {
        let in_place = share_found(worst.share_in_place());
        facts.push(format!("pages proved {in_place} in place ({})", worst.method));
        if let Some(unbound) = localities.iter().find(|locality| !locality.bound) {
            facts.push(format!(
                "node {}: placed by first touch, binding is forbidden here",
                unbound.asked
            ));
        }
        let pages: BTreeSet<String> = localities.iter().map(|locality| pages(locality)).collect();
        facts.push(pages.into_iter().collect::<Vec<_>>().join(", "));
    }
    let dropped: u64 = report.cells.iter().flat_map(|cell| cell.dropped.values()).sum();
    let kept: u64 = report.cells.iter().filter_map(CellResult::estimate).map(|e| e.n).sum();
    facts.push(format!("{} of {} samples dropped", count(dropped), count(kept + dropped)));
    facts.push("± = half of the 95% interval".to_owned());
    let occasions = report.cells.iter().filter_map(|cell| cell.occasion.as_ref());
    let is_learned = |occasion: &&Occasion| occasion.learned_from.is_some();
    let widest =
        occasions.max_by(|a, b| is_learned(a).cmp(&is_learned(b)).then(a.sd.total_cmp(&b.sd)));
    facts.extend(widest.map(words::occasions));
    facts
}

fn pages(locality: &Locality) -> String {
    if locality.page_size_share >= 0.995 {
        return locality.page_size.to_string();
    }
    format!("{} for {:.0}% of it", locality.page_size, locality.page_size_share * 100.0)
}

fn class_table<'a>(cells: &[&CellResult]) -> Block<'a> {
    let classes = classes(cells);
    let values = |of: &OfClass| [Some(of.median), Some(of.least), Some(of.most)];
    let values = all_aligned(&classes.iter().map(values).collect::<Vec<_>>());
    let row = |(of, [median, least, most]): (&OfClass, [String; 3])| {
        vec![of.class.to_string(), median, least, most, of.pairs.to_string()]
    };
    let rows = classes.iter().zip(values).map(row).collect::<Vec<_>>();
    let name = format!("{}, {}", cells[0].cell.series, cells[0].cell.unit);
    let head = ["median", "least", "most", "pairs"].map(Column::figures);
    let head = std::iter::once(Column::words(&name)).chain(head).collect();
    Block::Table(Table { head, rows: if rows.len() < 2 { Vec::new() } else { rows } })
}

fn cell_table<'a>(cells: &[&CellResult]) -> Block<'a> {
    let here: Vec<&CellResult> =
        cells.iter().copied().filter(|cell| !is_absent_rung(cells.iter().copied(), cell)).collect();
    let values = |cell: &&CellResult| {
        let of = |figure: fn(&Estimate) -> f64| cell.estimate().map(figure);
        let sure = cell.estimate().filter(|estimate| has_interval(estimate));
        [of(|e| e.point), sure.map(|e| e.low), sure.map(|e| e.high), of(|e| e.n_effective)]
    };
    let values = all_aligned(&here.iter().map(values).collect::<Vec<_>>());
    let row = |(result, [point, low, high, rounds]): (&&CellResult, [String; 4])| {
        let cell = &result.cell;
        let is_void = matches!(result.outcome, Outcome::Void(_));
        let point = if is_void { "void".to_owned() } else { point };
        let at = if cell.row == cell.column {
            cell.row.to_string()
        } else {
            format!("{} → {}", cell.row, cell.column)
        };
        vec![cell.series.clone(), at, point, low, high, cell.unit.to_string(), rounds]
    };
    let rows = here.iter().zip(values).map(row).collect();
    let mut head = vec![Column::words("series"), Column::words("from → to")];
    head.extend(["median", "from", "to"].map(Column::figures));
    head.extend([Column::words("unit"), Column::figures("rounds")]);
    Block::Table(Table { head, rows })
}

fn remarks(report: &ProbeReport) -> Vec<Item> {
    let Absences { rungs, reasons } = Absences::of(report);
    let item = |name: &str, text: String| Item { name: name.to_owned(), text, place: None };
    let mut items = Vec::new();
    if !rungs.is_empty() {
        items.push(item("", format!("not here: {}", rungs.join(", "))));
    }
    items.extend(reasons.into_iter().map(|(mark, text)| item(mark, text)));
    let warnings = report.warnings.iter();
    items.extend(warnings.map(|it| item("! note", format!("{}: {}", it.text, it.advice))));
    if report.interrupted {
        items.push(item(
            "! stopped",
            "before its end; what was measured so far is shown".to_owned(),
        ));
    }
    items
}
