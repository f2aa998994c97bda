//! A probe's series as text: heat maps, curves and lists.

use std::fmt::Write as _;

use hopcost_core::{CellResult, Outcome, Place};

use super::ink::{self, Ink};
use super::table::table;
use super::wrap::{labelled, pad, pad_left, width};
use crate::series::{Grid, Heat, OfClass, Shape, classes, is_absent_rung, relative_margins};
use crate::story::block::{Column, Table};
use crate::words::{count, figure, margin};

/// Wider matrices become a map of shades and a summary by distance class.
const MOST_COLUMNS: usize = 10;

pub fn draw(shape: &Shape<'_>, columns: usize) -> String {
    match shape {
        Shape::Matrix { series, cells } => matrix(series, cells, columns),
        Shape::Curve { series, cells } => curve(series, cells, columns),
        Shape::List { cells } => list(cells, columns),
    }
}

fn matrix(series: &str, cells: &[&CellResult], columns: usize) -> String {
    let grid = Grid::of(cells);
    let Grid { rows, across, .. } = &grid;
    let mut out = format!("  {}  {}\n", Ink::Strong.on(series), cells[0].cell.unit);
    let heat = Heat::of(cells);
    let label = rows.iter().map(|row| row.to_string().chars().count()).max().unwrap_or(0) + 4;
    let widest = cells.iter().map(|cell| width(&shown(cell, true))).max().unwrap_or(0) + 2;
    let with_margin = label + across.len() * widest <= columns;
    let cell_width = if with_margin { widest } else { 8 };
    if across.len() <= MOST_COLUMNS && label + across.len() * cell_width <= columns {
        let heads: String = across.iter().map(|c| pad_left(&c.to_string(), cell_width)).collect();
        let _ = writeln!(out, "{}{}", " ".repeat(label), Ink::Faint.on(&heads));
        for row in rows {
            let line: String = across
                .iter()
                .map(|c| matrix_cell(grid.find(row, c), &heat, with_margin, cell_width))
                .collect();
            let _ = writeln!(out, "  {}{line}", pad(&row.to_string(), label - 2));
        }
        if !with_margin {
            out.push_str(&margins(cells, columns));
        }
    } else {
        out.push_str(&shade_map(&grid, &heat, columns));
        out.push_str(&by_class(cells));
    }
    out
}

fn shown(result: &CellResult, with_margin: bool) -> String {
    match (&result.outcome, result.estimate()) {
        (_, Some(e)) if with_margin => format!("{} {}", figure(e.point), margin(e)),
        (_, Some(e)) => figure(e.point),
        (Outcome::Void(_), None) => Ink::Bad.on("void"),
        _ => Ink::Faint.on("–"),
    }
}

fn matrix_cell(
    result: Option<&CellResult>,
    heat: &Heat,
    with_margin: bool,
    columns: usize,
) -> String {
    let Some(result) = result else { return pad_left(&Ink::Faint.on("– "), columns) };
    let text = format!(" {} ", shown(result, with_margin));
    let room = " ".repeat(columns.saturating_sub(width(&text)));
    match result.estimate() {
        Some(estimate) => format!("{room}{}", ink::heat(&text, heat.at(estimate.point))),
        None => format!("{room}{text}"),
    }
}

fn margins(cells: &[&CellResult], columns: usize) -> String {
    let Some((low, high)) = relative_margins(cells) else {
        return String::new();
    };
    let text = format!("95% intervals: ±{low:.1}% to ±{high:.1}% of each figure");
    labelled("", 2, &Ink::Faint.on(&text), columns)
}

/// Two characters per cell, for matrices without room for figures.
fn shade_map(grid: &Grid<'_>, heat: &Heat, columns: usize) -> String {
    let Grid { rows, across, .. } = grid;
    let label = rows.iter().map(|row| row.to_string().chars().count()).max().unwrap_or(0) + 3;
    let step = (label + 2 * across.len()).div_ceil(columns.max(1));
    let every = |n: &usize| n.is_multiple_of(step.max(1));
    let mut out = String::new();
    for row in rows.iter().enumerate().filter(|(n, _)| every(n)).map(|(_, row)| row) {
        let mut line = String::new();
        for column in across.iter().enumerate().filter(|(n, _)| every(n)).map(|(_, column)| column)
        {
            line.push_str(&match grid.find(row, column).and_then(CellResult::estimate) {
                Some(estimate) => {
                    let at = heat.at(estimate.point);
                    let sign = ink::shade(at);
                    ink::heat(&format!("{sign}{sign}"), at)
                }
                None => "  ".to_owned(),
            });
        }
        let _ = writeln!(out, "  {}{line}", pad(&row.to_string(), label - 2));
    }
    if step > 1 {
        let _ = writeln!(
            out,
            "  {}",
            Ink::Faint.on(&format!("Every {step}th CPU is drawn. --json has all of them."))
        );
    }
    let _ = writeln!(
        out,
        "  {}",
        Ink::Faint.on(&format!(
            "· {} {}   █ {} {}",
            figure(heat.low),
            heat.unit,
            figure(heat.high),
            heat.unit
        ))
    );
    out
}

fn by_class(cells: &[&CellResult]) -> String {
    let mut out = String::new();
    for OfClass { class, median, least, most, pairs } in classes(cells) {
        let _ = writeln!(
            out,
            "  {class:<13}{:>8}  from {} to {}, {} pairs",
            figure(median),
            figure(least),
            figure(most),
            count(pairs),
        );
    }
    out
}

fn curve(series: &str, cells: &[&CellResult], columns: usize) -> String {
    let unit = cells[0].cell.unit;
    if cells.iter().all(|cell| !cell.cell.is_ready()) {
        return format!("  {}  {}\n", Ink::Strong.on(series), Ink::Faint.on("–"));
    }
    let mut out = format!("  {}  {unit}\n", Ink::Strong.on(series));
    let most = cells.iter().filter_map(|cell| cell.estimate()).map(|e| e.high).fold(0.0, f64::max);
    let room = columns.saturating_sub(30).min(40);
    for cell in cells {
        let label = pad_left(&cell.cell.column.to_string(), 6);
        let _ = match cell.estimate() {
            Some(e) => writeln!(
                out,
                "{label}  {}  {}",
                pad(&format!("{} {}", pad_left(&figure(e.point), 7), margin(e)), 16),
                bar(e.low / most, e.high / most, room),
            ),
            None => writeln!(out, "{label}  {}", Ink::Faint.on("–")),
        };
    }
    out
}

/// Full up to the interval's lower end, lighter up to its upper end.
fn bar(low: f64, high: f64, room: usize) -> String {
    let to = |share: f64| (share.clamp(0.0, 1.0) * room as f64).round() as usize;
    let (solid, whole) = (to(low), to(high));
    format!("{}{}", "█".repeat(solid), "░".repeat((whole - solid).max(1)))
}

/// A line per series, a column per distance class, and the measured CPUs below.
fn list(cells: &[&CellResult], columns: usize) -> String {
    let is_here = |cell: &&CellResult| !is_absent_rung(cells.iter().copied(), cell);
    let cells: Vec<&CellResult> = cells.iter().copied().filter(is_here).collect();
    let (mut rungs, mut series): (Vec<&Place>, Vec<&str>) = (Vec::new(), Vec::new());
    for cell in &cells {
        if !rungs.contains(&&cell.cell.row) {
            rungs.push(&cell.cell.row);
        }
        if !series.contains(&cell.cell.series.as_str()) {
            series.push(&cell.cell.series);
        }
    }
    let Some(first) = cells.first().map(|result| &result.cell) else { return String::new() };
    let (unit, heads): (String, Vec<String>) = match rungs[..] {
        [_] => (String::new(), vec![format!("{} → {}, {}", first.row, first.column, first.unit)]),
        _ => (first.unit.to_string(), rungs.iter().map(ToString::to_string).collect()),
    };
    let line = |name: &str| {
        let of = |rung: &&Place| {
            let found = cells.iter().find(|it| it.cell.row == **rung && it.cell.series == name);
            found.map_or_else(|| "–".to_owned(), |cell| shown(cell, true))
        };
        std::iter::once(name.to_owned()).chain(rungs.iter().map(of)).collect()
    };
    let mut rows: Vec<Vec<String>> = series.iter().map(|name| line(name)).collect();
    let cpus = |rung: &&Place| {
        let known =
            cells.iter().filter(|it| it.cell.row == **rung).find_map(|it| it.cell.cpus.get());
        let cpus = known.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
        format!("cpu {}", cpus.join(" and "))
    };
    if rungs.len() > 1 {
        rows.push(std::iter::once("on").map(str::to_owned).chain(rungs.iter().map(cpus)).collect());
    }
    let head = heads.iter().map(|head| Column::figures(head));
    let head = std::iter::once(Column::words(&unit)).chain(head).collect();
    table(&Table { head, rows }, columns)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hopcost_core::{
        Cell, CpuId, DistanceClass, Effort, Estimate, Known, NodeId, ProbeReport, Spread, Unit,
    };

    use super::*;
    use hopcost_core::Code;

    fn result(series: &str, row: Place, column: Place, figure: Result<f64, &str>) -> CellResult {
        let reason = |reason: &str| Code::NotMeasured.because(reason.to_owned());
        let known = |reason: &str| Known::missing(Code::NotMeasured, reason.to_owned());
        let estimate = |point: f64| Estimate {
            point,
            low: point,
            high: point,
            level: 0.95,
            n: 9,
            n_effective: 9.0,
        };
        let spread = |of| Spread { min: of, p5: of, median: of, p95: of, max: of };
        CellResult {
            cell: Cell {
                series: series.into(),
                row,
                column,
                class: Known::Is(DistanceClass::SameL3),
                unit: Unit::Nanoseconds,
                cpus: figure.map_or_else(known, |_| Known::Is(vec![CpuId(0)])),
            },
            outcome: match figure {
                Ok(point) => Outcome::Measured { estimate: estimate(point), spread: spread(point) },
                Err(text) => Outcome::Missing(reason(text)),
            },
            proof: Known::missing(Code::NotMeasured, "it is not looked at"),
            dropped: BTreeMap::new(),
            counters: BTreeMap::new(),
            starts: Vec::new(),
            occasion: None,
        }
    }

    fn text(cells: Vec<CellResult>) -> String {
        let report = ProbeReport {
            probe: "any".into(),
            question: "What is shown?".into(),
            effort: Effort::Quick,
            seed: 1,
            starts: 1,
            contended: 0,
            rounds: 6,
            seconds: 1.0,
            interrupted: false,
            cells,
            warnings: Vec::new(),
        };
        crate::text::probe_report(&report, 80)
    }

    #[test]
    fn a_curve_of_which_nothing_can_be_had_takes_one_line() {
        let of = |count, figure| {
            result("on large pages", Place::Node(NodeId(0)), Place::Count(count), figure)
        };
        let none = text((1..9).map(|count| of(count, Err("none is free"))).collect());
        let lines = none.lines().filter(|line| line.contains('–')).count();
        assert_eq!(lines, 2, "the curve and the reason: {none}");
        let one = text(vec![of(1, Ok(7.0)), of(2, Err("none is free"))]);
        assert!(one.contains("     1     7.00") && one.contains("     2  "), "{one}");
    }

    #[test]
    fn a_rung_that_is_not_here_has_no_line_of_its_own() {
        let of = |class, series, figure| {
            result(series, Place::Class(class), Place::Cpu(CpuId(1)), figure)
        };
        let one = text(vec![
            of(DistanceClass::Sibling, "futex", Err("no core has two usable threads")),
            of(DistanceClass::Sibling, "pipe", Err("no core has two usable threads")),
            of(DistanceClass::SameL3, "futex", Ok(5.0)),
            of(DistanceClass::SameL3, "pipe", Ok(6.0)),
        ]);
        assert!(one.contains("same-l3 → cpu 1, ns") && one.contains("not here: sibling"), "{one}");
        assert_eq!(one.lines().filter(|line| line.contains("futex")).count(), 1, "{one}");
    }
}
