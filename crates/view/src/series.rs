//! Sorts a probe's cells into matrices, curves and lists.

use std::collections::{BTreeMap, HashMap};

use hopcost_core::{CellResult, DistanceClass, Known, Outcome, Place, ProbeReport, Unit};

/// A list has one cell per row; its series are columns.
pub enum Shape<'a> {
    Matrix { series: &'a str, cells: Vec<&'a CellResult> },
    Curve { series: &'a str, cells: Vec<&'a CellResult> },
    List { cells: Vec<&'a CellResult> },
}

/// In the probe's order. Series with one cell, or one cell per row, are merged.
pub fn shapes(report: &ProbeReport) -> Vec<Shape<'_>> {
    let mut series: Vec<(&str, Vec<&CellResult>)> = Vec::new();
    for cell in &report.cells {
        match series.iter_mut().find(|(name, _)| *name == cell.cell.series) {
            Some((_, cells)) => cells.push(cell),
            None => series.push((&cell.cell.series, vec![cell])),
        }
    }
    let is_curve = |cells: &[&CellResult]| matches!(cells[0].cell.column, Place::Count(_));
    let is_list = |cells: &[&CellResult]| {
        let mut rows: Vec<&Place> = cells.iter().map(|cell| &cell.cell.row).collect();
        rows.dedup();
        !is_curve(cells) && rows.len() == cells.len()
    };
    let mut shapes = Vec::new();
    let listed: Vec<&CellResult> = series
        .iter()
        .filter(|(_, cells)| is_list(cells))
        .flat_map(|(_, cells)| cells.clone())
        .collect();
    if !listed.is_empty() {
        shapes.push(Shape::List { cells: listed });
    }
    for (name, cells) in series {
        if is_curve(&cells) {
            shapes.push(Shape::Curve { series: name, cells });
        } else if !is_list(&cells) {
            shapes.push(Shape::Matrix { series: name, cells });
        }
    }
    shapes
}

/// Maps each figure to 0 to 1 on a logarithmic scale between the extremes; near and fast is 0.
pub struct Heat {
    pub low: f64,
    pub high: f64,
    pub unit: Unit,
}

impl Heat {
    pub fn of(cells: &[&CellResult]) -> Self {
        let figures = || cells.iter().filter_map(|cell| cell.estimate()).map(|e| e.point);
        let low = figures().fold(f64::INFINITY, f64::min);
        let high = figures().fold(0.0, f64::max);
        Self { low, high, unit: cells[0].cell.unit }
    }

    pub fn at(&self, point: f64) -> f64 {
        // Differences under 5% are not shown.
        if self.high < self.low * 1.05 {
            return 0.0;
        }
        let share = (point / self.low).ln() / (self.high / self.low).ln();
        if self.unit.more_is_better() { 1.0 - share } else { share }
    }
}

pub struct Grid<'a> {
    pub rows: Vec<&'a Place>,
    pub across: Vec<&'a Place>,
    cells: HashMap<(&'a Place, &'a Place), &'a CellResult>,
    /// Between CPUs only one side of the diagonal is measured.
    is_symmetric: bool,
}

impl<'a> Grid<'a> {
    pub fn of(cells: &[&'a CellResult]) -> Self {
        let is_symmetric = cells
            .iter()
            .all(|c| matches!((&c.cell.row, &c.cell.column), (Place::Cpu(_), Place::Cpu(_))));
        let mut rows = places(cells, |cell| &cell.cell.row);
        let mut across = places(cells, |cell| &cell.cell.column);
        if is_symmetric {
            rows.extend(across.clone());
            rows.sort();
            rows.dedup();
            across.clone_from(&rows);
        }
        let cells = cells.iter().map(|cell| ((&cell.cell.row, &cell.cell.column), *cell)).collect();
        Self { rows, across, cells, is_symmetric }
    }

    pub fn find(&self, row: &Place, column: &Place) -> Option<&'a CellResult> {
        let mirrored = || self.cells.get(&(column, row)).filter(|_| self.is_symmetric);
        self.cells.get(&(row, column)).or_else(mirrored).copied()
    }
}

fn places<'a>(
    cells: &[&'a CellResult],
    of: impl Fn(&'a CellResult) -> &'a Place,
) -> Vec<&'a Place> {
    let mut places: Vec<&Place> = cells.iter().map(|cell| of(cell)).collect();
    places.sort();
    places.dedup();
    places
}

/// Half-widths of intervals as per cent of their figures: minimum and maximum.
pub fn relative_margins(cells: &[&CellResult]) -> Option<(f64, f64)> {
    let estimates = cells.iter().filter_map(|cell| cell.estimate());
    let halves: Vec<f64> = estimates.map(|e| (e.high - e.low) / 2.0 / e.point * 100.0).collect();
    let low = halves.iter().copied().min_by(f64::total_cmp)?;
    Some((low, halves.iter().copied().fold(0.0, f64::max)))
}

pub struct OfClass {
    pub class: DistanceClass,
    pub median: f64,
    pub least: f64,
    pub most: f64,
    pub pairs: u64,
}

/// Nearest first.
pub fn classes(cells: &[&CellResult]) -> Vec<OfClass> {
    let mut classes: BTreeMap<DistanceClass, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        if let (Known::Is(class), Some(estimate)) = (&cell.cell.class, cell.estimate()) {
            classes.entry(*class).or_default().push(estimate.point);
        }
    }
    let of_class = |(class, mut figures): (DistanceClass, Vec<f64>)| {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (figures[0], figures[figures.len() - 1]);
        let (median, pairs) = (figures[figures.len() / 2], figures.len() as u64);
        OfClass { class, median, least, most, pairs }
    };
    classes.into_iter().map(of_class).collect()
}

/// A distance class that this machine does not have: none of its cells can be measured.
pub fn is_absent_rung<'a>(
    among: impl IntoIterator<Item = &'a CellResult>,
    result: &CellResult,
) -> bool {
    let of_rung = |other: &&CellResult| other.cell.row == result.cell.row;
    matches!(result.cell.row, Place::Class(_))
        && among.into_iter().filter(of_rung).all(|other| !other.cell.is_ready())
}

pub struct Absences {
    pub rungs: Vec<String>,
    /// Other reasons, with the mark that replaces figures in the drawing.
    pub reasons: Vec<(&'static str, String)>,
}

impl Absences {
    pub fn of(report: &ProbeReport) -> Self {
        let (gone, kept): (Vec<&CellResult>, Vec<&CellResult>) =
            report.cells.iter().partition(|cell| is_absent_rung(&report.cells, cell));
        let mut rungs: Vec<String> = gone.iter().map(|cell| cell.cell.row.to_string()).collect();
        rungs.dedup();
        let mut reasons: Vec<(&str, &'static str, Vec<String>)> = Vec::new();
        for cell in kept {
            let (mark, reason) = match &cell.outcome {
                Outcome::Measured { .. } => continue,
                Outcome::Missing(reason) => ("–", reason.as_str()),
                Outcome::Void(reason) => ("void", reason.as_str()),
            };
            let place = cell.cell.row.to_string();
            match reasons.iter_mut().find(|(text, m, _)| *text == reason && *m == mark) {
                Some((_, _, places)) if places.contains(&place) => {}
                Some((_, _, places)) => places.push(place),
                None => reasons.push((reason, mark, vec![place])),
            }
        }
        let told = |(reason, mark, places): (&str, &'static str, Vec<String>)| {
            let mut names: Vec<String> = places.iter().take(4).cloned().collect();
            if places.len() > names.len() {
                names.push(format!("and {} more", places.len() - names.len()));
            }
            (mark, format!("{}: {reason}", names.join(", ")))
        };
        Self { rungs, reasons: reasons.into_iter().map(told).collect() }
    }
}
