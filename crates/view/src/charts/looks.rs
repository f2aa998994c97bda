//! The headline's interval at each interim look.

use std::fmt::Write as _;

use hopcost_core::{Code, Known};

use super::axis::{Plot, Sheet, add_shape, add_whisker, extent, with_air};
use crate::page::Section;
use crate::words::{change, duration};

/// More looks have no room for individual intervals.
const FEW: usize = 24;

/// The change in throughput that a cost is.
fn percent(cost: f64) -> f64 {
    -100.0 * cost
}

pub fn looks(section: &Section<'_>) -> Known<String> {
    let Some(point) = section.headline_point() else {
        return Known::missing(Code::TooFew, "no cost was estimated");
    };
    let looks = &point.looks;
    let changes = || looks.iter().flat_map(|look| [look.cost.low, look.cost.high].map(percent));
    let (Some((from, to)), Some((low, high))) =
        (extent(looks.iter().map(|look| look.after_s)), extent(changes()))
    else {
        return Known::missing(Code::NotStored, "this run kept its last look alone");
    };
    let margin = 100.0 * section.margin.unwrap_or(0.0);
    let mut sheet = Sheet::new(
        "Evidence over time",
        format!(
            "{} looks from {} to {}; the last: {}",
            looks.len(),
            duration(from),
            duration(to),
            looks.last().map(|look| change(&look.cost)).unwrap_or_default()
        ),
    );
    let up = with_air((low.min(-margin), high.max(margin)));
    let plot = Plot::new((0.0, 1.04 * to), up, (28.0, 216.0));
    plot.draw_margin(&mut sheet, section.margin);
    plot.draw_up(&mut sheet, "change in throughput, %");
    plot.draw_along(&mut sheet, "seconds since the start of the run");
    let place = |n: usize, share: f64| (plot.x.at(looks[n].after_s), plot.y.at(percent(share)));
    let (mut band, mut line, mut marks) = (String::new(), String::new(), String::new());
    let mut ends = String::new();
    let there = (0..looks.len()).map(|n| place(n, looks[n].cost.high));
    let back = (0..looks.len()).rev().map(|n| place(n, looks[n].cost.low));
    for (x, y) in there.chain(back) {
        let _ = write!(band, "{}{x:.1} {y:.1}", if band.is_empty() { 'M' } else { 'L' });
    }
    band.push('z');
    for (n, look) in looks.iter().enumerate() {
        let (x, y) = place(n, look.cost.point);
        let _ = write!(line, "{}{x:.1} {y:.1}", if n == 0 { 'M' } else { 'L' });
        add_shape(&mut marks, 0, (x, y), 2.6);
        if looks.len() <= FEW {
            add_whisker(&mut ends, x, (place(n, look.cost.low).1, place(n, look.cost.high).1));
        }
    }
    sheet.path("belief", &band);
    sheet.path("whisker c0", &ends);
    sheet.path("interval thin open", &line);
    sheet.path("point", &marks);
    Known::Is(sheet.finish())
}
