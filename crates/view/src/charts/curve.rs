//! A series of a probe whose columns are counts, such as parallel chains: a curve with intervals.

use std::fmt::Write as _;

use hopcost_core::{CellResult, Code, Estimate, Known, Unit};

use super::axis::{Anchor, Plot, Sheet, add_shape, add_whisker, extent};
use crate::words::{figure, has_interval, margin};

/// One series, row by row in the order of its counts.
pub fn curve(series: &str, cells: &[&CellResult]) -> Known<String> {
    let measured: Vec<(String, &Estimate)> = cells
        .iter()
        .filter_map(|cell| Some((cell.cell.column.to_string(), cell.estimate()?)))
        .collect();
    let Some((_, most)) = extent(measured.iter().map(|(_, estimate)| estimate.high)) else {
        return Known::missing(Code::NotMeasured, "none of it could be measured");
    };
    let unit = cells[0].cell.unit;
    let word =
        |(count, e): &(String, &Estimate)| format!("{count}: {} {}", figure(e.point), margin(e));
    let words = measured.iter().map(word).collect::<Vec<_>>().join("; ");
    let mut sheet = Sheet::new(series, format!("{words} {unit}"));
    let last = measured.len().saturating_sub(1) as f64;
    let plot = Plot::new((-0.4, last + 0.4), (0.0, 1.08 * most), (28.0, 190.0));
    let better = if unit == Unit::Nanoseconds { "less is better" } else { "" };
    let what = if better.is_empty() { unit.to_string() } else { format!("{unit}, {better}") };
    plot.draw_up(&mut sheet, &what);
    let (mut line, mut marks, mut whiskers) = (String::new(), String::new(), String::new());
    for (place, (count, estimate)) in measured.iter().enumerate() {
        let (x, y) = (plot.x.at(place as f64), plot.y.at(estimate.point));
        let _ = write!(line, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
        add_shape(&mut marks, 0, (x, y), 4.5);
        if has_interval(estimate) {
            add_whisker(&mut whiskers, x, (plot.y.at(estimate.low), plot.y.at(estimate.high)));
        }
        sheet.text((x, plot.bottom + 21.0), Anchor::Middle, "", count);
    }
    sheet.path("line c0", &line);
    sheet.path("whisker c0", &whiskers);
    sheet.path("mark c0", &marks);
    sheet.height = plot.bottom + 30.0;
    Known::Is(sheet.finish())
}
