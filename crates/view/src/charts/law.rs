//! Throughput against clients: measured values, and the fitted scaling law as a line.

use hopcost_core::{Arm, Code, Known, Scaling, ScalingLaw};

use super::axis::{Anchor, Plot, Sheet, Trace, extent};
use super::streams::spread;
use crate::page::Section;

const POINTS: u32 = 80;

/// Only variants with a fitted law.
pub fn law(section: &Section<'_>) -> Known<String> {
    let details = section.result.details.as_ref();
    let (arms, laws) = details.map_or((&[][..], &[][..]), |of| (&of.arms[..], &of.scaling[..]));
    let widest = extent(arms.iter().map(|arm| f64::from(arm.streams)));
    let highest = extent(arms.iter().map(|arm| arm.response));
    let (Some((_, widest)), Some((_, highest))) = (widest, highest) else {
        return Known::missing(Code::NotApplicable, "no level was summed up");
    };
    let words: Vec<String> = laws.iter().map(words).collect();
    let mut sheet = Sheet::new("How throughput grows with clients", words.join("; "));
    let plot = Plot::new((0.0, 1.03 * widest), (0.0, 1.15 * highest), (28.0, 236.0));
    plot.draw_up(&mut sheet, &section.throughput());
    plot.draw_along(&mut sheet, "clients");
    for of in laws.iter().rev() {
        let Some(level) = section.all_levels().iter().position(|name| *name == of.level) else {
            continue;
        };
        if let Known::Is(law) = &of.law {
            draw_law(&mut sheet, &plot, level, law, widest);
        }
        let arms = arms.iter().filter(|arm| arm.level == of.level);
        draw_measured(&mut sheet, &plot, section, level, arms);
    }
    Known::Is(sheet.finish())
}

fn words(of: &Scaling) -> String {
    match &of.law {
        Known::Is(law) => format!("{}: {law}", of.level),
        Known::Missing(reason) => format!("{}: no law, because {reason}", of.level),
    }
}

fn draw_law(sheet: &mut Sheet, plot: &Plot, level: usize, law: &ScalingLaw, widest: f64) {
    let mut trace = Trace::default();
    for n in 0..=POINTS {
        let streams = 1.0 + (widest - 1.0) * f64::from(n) / f64::from(POINTS);
        trace.to((plot.x.at(streams), plot.y.at(law.rate(streams)).max(plot.top)));
    }
    trace.draw(sheet, level);
    if let Known::Is(peak) = &law.peak {
        let (x, y) = (plot.x.at(peak.point), plot.y.at(law.rate(peak.point)));
        sheet.text((x, y - 14.0), Anchor::Middle, "faint", &format!("{:.1}", peak.point));
    }
}

fn draw_measured<'a>(
    sheet: &mut Sheet,
    plot: &Plot,
    section: &Section<'_>,
    level: usize,
    arms: impl Iterator<Item = &'a Arm>,
) {
    let mut trace = Trace::default();
    for arm in arms {
        let at = (plot.x.at(f64::from(arm.streams)), plot.y.at(arm.response));
        let ends = spread(section, level, arm);
        let ends = ends.map(|(low, high)| (plot.y.at(low), plot.y.at(high).max(plot.top)));
        trace.mark(level, at, 5.0, ends);
    }
    trace.draw(sheet, level);
}
