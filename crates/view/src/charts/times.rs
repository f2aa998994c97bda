//! Response times: the share of a variant's calls by duration.

use hopcost_core::{Arm, Code, Known};

use super::axis::{Anchor, Plot, Sheet, Trace, extent};
use crate::page::Section;
use crate::words::figure;

/// At the headline's point.
pub fn times(section: &Section<'_>) -> Known<String> {
    let arms = section.result.details.as_ref().map_or(&[][..], |details| &details.arms);
    let streams = section.headline_point().map(|point| point.streams);
    let is_drawn = |arm: &&Arm| Some(arm.streams) == streams && !arm.times.is_empty();
    let arms: Vec<&Arm> = arms.iter().filter(is_drawn).collect();
    let all = || arms.iter().flat_map(|arm| &arm.times);
    let (Some((first, last)), Some((_, most))) =
        (extent(all().map(|(ms, _)| *ms)), extent(all().map(|(_, share)| 100.0 * share)))
    else {
        return Known::missing(
            Code::NotAsked,
            "this experiment does not ask for the spread of response times",
        );
    };
    let words: Vec<String> = arms.iter().map(|arm| words(arm)).collect();
    let mut sheet = Sheet::new("Response times", words.join("; "));
    let along = (first.log10() - 0.05, last.log10() + 0.05);
    let plot = Plot::new(along, (0.0, 1.08 * most), (28.0, 236.0));
    plot.draw_up(&mut sheet, "share of calls, %");
    for ms in round_times(first, last) {
        let x = plot.x.at(ms.log10());
        sheet.line("axis", (x, plot.bottom), (x, plot.bottom + 4.0));
        sheet.text((x, plot.bottom + 21.0), Anchor::Middle, "", &figure(ms));
    }
    let end = plot.x.at(along.1);
    sheet.text((end, plot.bottom + 43.0), Anchor::End, "faint", "milliseconds of a call");
    sheet.height = plot.bottom + 50.0;
    let levels = section.all_levels();
    for arm in arms.iter().rev() {
        let level = levels.iter().position(|name| *name == arm.level).unwrap_or(0);
        draw(&mut sheet, &plot, level, arm);
    }
    Known::Is(sheet.finish())
}

fn draw(sheet: &mut Sheet, plot: &Plot, level: usize, arm: &Arm) {
    let mut trace = Trace::default();
    for (ms, share) in &arm.times {
        let at = (plot.x.at(ms.log10()), plot.y.at(100.0 * share));
        trace.to(at);
        trace.mark(level, at, 3.0, None);
    }
    trace.draw(sheet, level);
}

fn words(arm: &Arm) -> String {
    let mode =
        |(ms, share): &(f64, f64)| format!("{:.0}% around {} ms", 100.0 * share, figure(*ms));
    let modes: Vec<String> = arm.modes.iter().map(mode).collect();
    format!("{} at {} clients: {}", arm.level, arm.streams, modes.join(", "))
}

/// 1, 2 and 5 times the powers of ten, or only the powers for a wide range.
fn round_times(first: f64, last: f64) -> Vec<f64> {
    let (low, high) = (first.log10().floor() as i32, last.log10().ceil() as i32);
    let steps: &[f64] = if last / first > 200.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all =
        (low..=high).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    all.filter(|ms| (first * 0.95..=last * 1.05).contains(ms)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_times_lie_within() {
        assert_eq!(round_times(0.4, 3.0), [0.5, 1.0, 2.0]);
        assert_eq!(round_times(1.0, 1000.0), [1.0, 10.0, 100.0, 1000.0]);
    }
}
