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
    let mut dots = String::new();
    for (n, percent) in percents.iter().enumerate() {
        add_shape(&mut dots, 0, (plot.x.at(n as f64 + 1.0), plot.y.at(*percent)), 3.8);
    }
    sheet.path("mark c0", &dots);
    Known::Is(sheet.finish())
}
