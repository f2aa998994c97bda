//! The change in each start, in time, and the interval over them.

use hopcost_core::{Code, Known};

use super::axis::{LEFT, Plot, RIGHT, Sheet, add_box, add_shape, extent, with_air};
use crate::page::Section;

pub fn starts(section: &Section<'_>) -> Known<String> {
    let details = section.result.details.as_ref();
    let Some(found) = details.and_then(|details| details.starts.as_ref()) else {
        return Known::missing(Code::NotMeasured, "all was measured within one start");
    };
    let percents: Vec<f64> = found.costs.iter().map(|cost| -100.0 * cost).collect();
    let point = section.headline_point();
    let ends = point.map_or([0.0; 2], |point| [point.cost.low, point.cost.high]);
    let all = || percents.iter().copied();
    let (Some((low, high)), Some(up)) =
        (extent(all()), extent(all().chain(ends.map(|share| -100.0 * share)).chain([0.0])))
    else {
        return Known::missing(Code::NotStored, "no start was complete");
    };
    let words = format!("{} starts, from {low:+.1} to {high:+.1}% of throughput", percents.len());
    let mut sheet = Sheet::new("Start by start", words);
    let plot = Plot::new((0.0, percents.len() as f64 + 1.0), with_air(up), (28.0, 232.0));
    plot.draw_margin(&mut sheet, section.margin);
    if point.is_some() {
        let ends = ends.map(|share| plot.y.at(-100.0 * share));
        let mut band = String::new();
        add_box(&mut band, (LEFT, RIGHT), (ends[0], ends[1]));
        sheet.path("belief", &band);
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
