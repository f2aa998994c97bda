//! Raw contrasts: a mark per block over time, and the estimate behind them.

use hopcost_core::{BlockRecord, Code, Known, Phase};
use hopcost_stats::{Block, cost};

use super::axis::{Plot, Sheet, add_cross, add_shape, class_of, extent, with_air};
use crate::page::Section;

struct Mark {
    at_s: f64,
    percent: f64,
    phase: Phase,
    level: usize,
    is_dropped: bool,
}

pub fn contrasts(section: &Section<'_>) -> Known<String> {
    let marks: Vec<Mark> = section.blocks.iter().filter_map(mark).collect();
    let point = section.headline_point();
    let ends = point.map(|point| [point.cost.low, point.cost.high].map(|share| -100.0 * share));
    let all = || marks.iter().map(|mark| mark.percent);
    let (Some((from, to)), Some((low, high)), Some((least, most))) = (
        extent(marks.iter().map(|mark| mark.at_s)),
        extent(all()),
        extent(all().chain(ends.into_iter().flatten()).chain([0.0])),
    ) else {
        return Known::missing(Code::NotStored, "no blocks were kept");
    };
    let dropped = marks.iter().filter(|mark| mark.is_dropped).count();
    let words = format!(
        "{} blocks, {dropped} of them dropped; from {low:+.1} to {high:+.1}% of throughput",
        marks.len()
    );
    let mut sheet = Sheet::new("Block by block", words);
    let up = with_air((least, most));
    let plot = Plot::new(with_air((from, to)), up, (28.0, 232.0));
    plot.draw_margin(&mut sheet, section.margin);
    if let Some(ends) = ends {
        plot.draw_belief(&mut sheet, ends);
    }
    plot.draw_up(&mut sheet, "change in throughput in a block, %");
    plot.draw_along(&mut sheet, "seconds from the first block");
    draw_marks(&mut sheet, &plot, &marks);
    Known::Is(sheet.finish())
}

fn mark(block: &BlockRecord) -> Option<Mark> {
    let (a, b) = block.rates()?;
    let contrast = Block { a, b }.contrast()?;
    Some(Mark {
        at_s: block.windows.first()?.begin_s,
        percent: -100.0 * cost(contrast),
        phase: block.trial.phase,
        level: block.trial.level,
        is_dropped: block.disturbed().is_some(),
    })
}

/// Filled: estimates. Open: searches. Bars: A/A checks. Crosses: dropped blocks.
fn draw_marks(sheet: &mut Sheet, plot: &Plot, marks: &[Mark]) {
    let place = |mark: &Mark| (plot.x.at(mark.at_s), plot.y.at(mark.percent));
    let levels = marks.iter().map(|mark| mark.level).max().unwrap_or(0);
    let size = (20.0 / (marks.len() as f64).sqrt()).clamp(0.4, 1.0);
    for level in 0..=levels {
        let class = class_of(level);
        let (mut open, mut filled) = (String::new(), String::new());
        let own = marks.iter().filter(|m| m.level == level && !m.is_dropped);
        for mark in own {
            match mark.phase {
                Phase::Search | Phase::Long => add_shape(&mut open, level, place(mark), 3.4 * size),
                Phase::Fresh => add_shape(&mut filled, level, place(mark), 3.8 * size),
                Phase::Placebo => add_shape(&mut open, 0, place(mark), 2.6 * size),
            }
        }
        sheet.path(&format!("mark open c{class}"), &open);
        sheet.path(&format!("mark c{class}"), &filled);
    }
    let mut crosses = String::new();
    for mark in marks.iter().filter(|mark| mark.is_dropped) {
        add_cross(&mut crosses, place(mark), 3.5 * size);
    }
    sheet.path("cross", &crosses);
}
