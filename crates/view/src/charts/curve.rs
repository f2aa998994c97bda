//! A curve with intervals for a probe series whose columns are counts, such as parallel chains.

use hopcost_core::{CellResult, Code, Estimate, Known, Unit};

use super::axis::{Anchor, Plot, Sheet, Trace, extent};
use crate::words::{figure, has_interval, margin};

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
    let mut trace = Trace::default();
    for (place, (count, estimate)) in measured.iter().enumerate() {
        let (x, y) = (plot.x.at(place as f64), plot.y.at(estimate.point));
        let ends = (plot.y.at(estimate.low), plot.y.at(estimate.high));
        trace.to((x, y));
        trace.mark(0, (x, y), 4.5, has_interval(estimate).then_some(ends));
        sheet.text((x, plot.bottom + 21.0), Anchor::Middle, "", count);
    }
    trace.draw(&mut sheet, 0);
    sheet.height = plot.bottom + 30.0;
    Known::Is(sheet.finish())
}
