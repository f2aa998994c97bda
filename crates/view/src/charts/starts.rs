//! The change in each start, in time, and the interval over them.

use hopcost_core::{Code, Known};

use super::axis::{Plot, Sheet, add_shape, extent, with_air};
use crate::page::Section;

pub fn starts(section: &Section<'_>) -> Known<String> {
    let Some(found) = section.starts() else {
        return Known::missing(Code::NotMeasured, "all was measured within one start");
    };
    let percents: Vec<f64> = found.costs.iter().map(|cost| -100.0 * cost).collect();
    let point = section.headline_point();
    let ends = point.map(|point| [point.cost.low, point.cost.high].map(|share| -100.0 * share));
    let all = || percents.iter().copied();
    let (Some((low, high)), Some(up)) =
        (extent(all()), extent(all().chain(ends.into_iter().flatten()).chain([0.0])))
    else {
        return Known::missing(Code::NotStored, "no start was complete");
    };
    let words = format!("{} starts, from {low:+.1} to {high:+.1}% of throughput", percents.len());
    let mut sheet = Sheet::new("Start by start", words);
    let plot = Plot::new((0.0, percents.len() as f64 + 1.0), with_air(up), (28.0, 232.0));
    plot.draw_margin(&mut sheet, section.margin);
    if let Some(ends) = ends {
        plot.draw_belief(&mut sheet, ends);
    }
    plot.draw_up(&mut sheet, "change in throughput in a start, %");
    plot.draw_along(&mut sheet, "start");
    let is_slow = |n: usize| {
        found.kinds.as_ref().is_some_and(|kinds| kinds.slow.get(n).copied().unwrap_or_default())
    };
    let mut marks = [String::new(), String::new()];
    for (n, percent) in percents.iter().enumerate() {
        let kind = usize::from(is_slow(n));
        let at = (plot.x.at(n as f64 + 1.0), plot.y.at(*percent));
        add_shape(&mut marks[kind], kind, at, 3.8);
    }
    for (class, marks) in ["mark c0", "mark c1"].into_iter().zip(&marks) {
        sheet.path(class, marks);
    }
    Known::Is(sheet.finish())
}
