//! Throughput against clients: a line per variant, with the spread of its windows.

use hopcost_core::{Arm, Code, Known};
use std::collections::BTreeSet;

use super::axis::{Anchor, Plot, Sheet, Trace, extent};
use crate::page::Section;
use crate::words::figure;

/// Horizontal offset between variants with equal client counts.
const APART: f64 = 7.0;

pub fn streams(section: &Section<'_>) -> Known<String> {
    let arms = section.result.details.as_ref().map_or(&[][..], |details| &details.arms);
    let counts: BTreeSet<u32> = arms.iter().map(|arm| arm.streams).collect();
    let drawn: Vec<Drawn> =
        arms.iter().filter_map(|arm| Drawn::of(section, arm, &counts)).collect();
    let most = extent(drawn.iter().flat_map(|arm| [arm.response, arm.spread.map_or(0.0, |s| s.1)]));
    let Some((_, most)) = most.filter(|(_, most)| *most > 0.0) else {
        return Known::missing(Code::NotApplicable, "no level was summed up");
    };
    let words = drawn.iter().map(Drawn::words).collect::<Vec<_>>().join("; ");
    let mut sheet = Sheet::new("Throughput by number of clients", words);
    let last = counts.len().saturating_sub(1) as f64;
    let plot = Plot::new((-0.4, last + 0.4), (0.0, 1.08 * most), (28.0, 236.0));
    plot.draw_up(&mut sheet, &section.throughput());
    for (place, count) in counts.iter().enumerate() {
        let at = (plot.x.at(place as f64), plot.bottom + 21.0);
        sheet.text(at, Anchor::Middle, "", &count.to_string());
    }
    sheet.text((plot.x.at(last + 0.4), plot.bottom + 43.0), Anchor::End, "faint", "clients");
    sheet.height = plot.bottom + 50.0;
    let levels: BTreeSet<usize> = drawn.iter().map(|arm| arm.level).collect();
    for level in levels.iter().rev() {
        draw_level(&mut sheet, &plot, *level, &drawn, levels.len());
    }
    Known::Is(sheet.finish())
}

struct Drawn {
    name: String,
    level: usize,
    streams: u32,
    place: f64,
    response: f64,
    /// 5th and 95th percentile of the windows.
    spread: Option<(f64, f64)>,
}

impl Drawn {
    fn of(section: &Section<'_>, arm: &Arm, counts: &BTreeSet<u32>) -> Option<Self> {
        let level = section.all_levels().iter().position(|name| *name == arm.level)?;
        let place = counts.iter().position(|count| *count == arm.streams)? as f64;
        let spread = spread(section, level, arm);
        let (name, streams, response) =
            (section.label(&arm.level).to_owned(), arm.streams, arm.response);
        Some(Self { name, level, streams, place, response, spread })
    }

    fn words(&self) -> String {
        format!("{} at {} clients: {}", self.name, self.streams, figure(self.response))
    }
}

/// The range of 90% of a variant's windows, in the unit of its response.
pub(super) fn spread(section: &Section<'_>, level: usize, arm: &Arm) -> Option<(f64, f64)> {
    let mut rates: Vec<f64> = Vec::new();
    for block in section.blocks.iter().filter(|block| block.trial.streams == arm.streams) {
        // The second set of clients in an A/A check belongs to no variant.
        let own = |tested: bool| {
            if level == 0 { !tested } else { tested && block.trial.level == level }
        };
        let windows = block.windows.iter().filter(|window| own(window.tested));
        rates.extend(windows.map(|window| window.rate));
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    if rates.len() < 4 || mean <= 0.0 {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let quantile = |share| Some(hopcost_stats::quantile(&rates, share)? * arm.response / mean);
    Some((quantile(0.05)?, quantile(0.95)?))
}

fn draw_level(sheet: &mut Sheet, plot: &Plot, level: usize, all: &[Drawn], levels: usize) {
    let aside = (level as f64 - (levels as f64 - 1.0) / 2.0) * APART;
    let mut trace = Trace::default();
    let mut arms: Vec<&Drawn> = all.iter().filter(|arm| arm.level == level).collect();
    arms.sort_by(|a, b| a.place.total_cmp(&b.place));
    for arm in arms {
        let (x, y) = (plot.x.at(arm.place) + aside, plot.y.at(arm.response));
        let ends = arm.spread.map(|(low, high)| (plot.y.at(low), plot.y.at(high)));
        trace.to((x, y));
        trace.mark(level, (x, y), 5.0, ends);
    }
    trace.draw(sheet, level);
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Phase, Verdict};

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn the_spread_is_of_the_levels_own_windows() {
        let mut sample = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(40);
        for block in &mut sample.blocks {
            let is_placebo = block.trial.phase == Phase::Placebo;
            for window in &mut block.windows {
                // The second set in an A/A check is far off, and must not count.
                window.rate = match (window.tested, is_placebo) {
                    (false, _) => 100.0,
                    (true, false) => 50.0,
                    (true, true) => 1.0,
                };
            }
        }
        let section = sample.section();
        let arms = &sample.result.details.as_ref().unwrap().arms;
        for (level, arm) in [(0, &arms[2]), (1, &arms[3])] {
            let (low, high) = spread(&section, level, arm).unwrap();
            assert!((low - arm.response).abs() < 1e-6 && (high - arm.response).abs() < 1e-6);
        }
    }
}
