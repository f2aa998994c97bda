//! Shared by charts over time: windows as columns, and the ribbon that shows each variant.

use hopcost_core::{BlockRecord, NodeId, Window};

use super::axis::{Anchor, LEFT, Plot, SIGNS, Sheet, add_box, add_cross, class_of};
use crate::page::Section;

/// Limits the length of the page.
const MOST_COLUMNS: usize = 160;
const MOST_IN_RIBBON: usize = 1_200;
/// In windows. A shorter pause is drawn as part of the preceding window.
const SHORT_PAUSE: f64 = 3.0;

#[derive(Clone, Copy)]
pub struct Slot<'a> {
    pub block: &'a BlockRecord,
    pub window: &'a Window,
    pub level: usize,
    /// Its workers' node.
    pub at: Option<NodeId>,
}

pub struct Column<'a> {
    pub from_s: f64,
    pub to_s: f64,
    pub slots: Vec<Slot<'a>>,
}

pub struct Timeline<'a> {
    pub columns: Vec<Column<'a>>,
    slots: Vec<Slot<'a>>,
    levels: Vec<String>,
    /// Windows per column.
    pub together: usize,
}

impl<'a> Timeline<'a> {
    /// `None` if it has no windows.
    pub fn of(section: &Section<'a>) -> Option<Self> {
        let slot = |block: &'a BlockRecord, window: &'a Window| {
            let level = if window.tested { block.trial.level } else { 0 };
            let at =
                section.workers_at.get(block.trial.binding).and_then(|levels| levels.get(level));
            Slot { block, window, level, at: at.copied().flatten() }
        };
        let of_block = |block: &'a BlockRecord| block.windows.iter().map(move |w| slot(block, w));
        let mut slots: Vec<Slot<'a>> = section.blocks.iter().flat_map(of_block).collect();
        slots.sort_by(|a, b| a.window.begin_s.total_cmp(&b.window.begin_s));
        // Whole blocks, so that each column has equally much of both variants.
        let together = match slots.len().div_ceil(MOST_COLUMNS) {
            0 | 1 => 1,
            n => 4 * n.div_ceil(4),
        };
        let chunks: Vec<&[Slot<'a>]> = slots.chunks(together).collect();
        let columns = chunks.iter().enumerate().map(|(n, chunk)| {
            let last = chunk[chunk.len() - 1].window;
            let (from_s, end_s) = (chunk[0].window.begin_s, last.begin_s + last.seconds);
            let next = chunks.get(n + 1).map_or(end_s, |next| next[0].window.begin_s);
            let is_short = next - end_s < SHORT_PAUSE * last.seconds;
            let to_s = if is_short { next.max(end_s) } else { end_s };
            Column { from_s, to_s, slots: chunk.to_vec() }
        });
        let columns: Vec<Column<'a>> = columns.collect();
        (!columns.is_empty()).then(|| Self {
            columns,
            slots,
            levels: section.all_levels(),
            together,
        })
    }

    pub fn span_s(&self) -> (f64, f64) {
        let end = self.columns.iter().map(|column| column.to_s).fold(0.0, f64::max);
        (self.columns[0].from_s, end)
    }

    /// For charts whose columns hold several windows.
    pub fn note(&self) -> String {
        match self.together {
            1 => String::new(),
            n => format!("; {n} windows in a column"),
        }
    }

    pub fn draw_ribbon(&self, sheet: &mut Sheet, plot: &mut Plot) {
        const LANE: f64 = 18.0;
        let top = plot.bottom + 10.0;
        let mut crosses = String::new();
        for level in 0..self.levels.len() {
            let y = top + level as f64 * LANE;
            let mut lane = String::new();
            for (from_s, to_s) in self.times_of(level) {
                let (left, right) = (plot.x.at(from_s), plot.x.at(to_s));
                add_box(&mut lane, (left, right.max(left + 0.6)), (y, y + 10.0));
            }
            // The sign of the key above: a label is too long.
            let sign = SIGNS[class_of(level)].to_string();
            sheet.text((LEFT - 8.0, y + 9.5), Anchor::End, "", &sign);
            sheet.path(&format!("fill c{}", class_of(level)), &lane);
        }
        for slot in
            self.slots.iter().filter(|slot| slot.is_first() && slot.block.disturbed().is_some())
        {
            let x = plot.x.at(slot.window.begin_s);
            add_cross(&mut crosses, (x, top + self.levels.len() as f64 * LANE + 5.0), 3.5);
        }
        let mut bottom = top + self.levels.len() as f64 * LANE;
        if !crosses.is_empty() {
            sheet.text((LEFT - 8.0, bottom + 9.5), Anchor::End, "", "dropped");
            sheet.path("cross", &crosses);
            bottom += LANE;
        }
        plot.bottom = bottom;
    }

    fn times_of(&self, level: usize) -> Vec<(f64, f64)> {
        if self.slots.len() <= MOST_IN_RIBBON {
            let own = self.slots.iter().filter(|slot| slot.level == level);
            return own.map(|s| (s.window.begin_s, s.window.begin_s + s.window.seconds)).collect();
        }
        let has = |column: &&Column<'_>| column.slots.iter().any(|slot| slot.level == level);
        self.columns.iter().filter(has).map(|column| (column.from_s, column.to_s)).collect()
    }
}

impl Slot<'_> {
    fn is_first(&self) -> bool {
        self.block.windows.first().is_some_and(|first| std::ptr::eq(first, self.window))
    }
}

impl Column<'_> {
    pub fn seconds(&self) -> f64 {
        self.slots.iter().map(|slot| slot.window.seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn a_long_run_is_drawn_in_columns_of_whole_blocks() {
        let short = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(40);
        let timeline = Timeline::of(&short.section()).unwrap();
        assert_eq!((timeline.columns.len(), timeline.together), (160, 1));
        let long = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(41);
        let timeline = Timeline::of(&long.section()).unwrap();
        assert_eq!((timeline.columns.len(), timeline.together), (41, 4));
        let windows: usize = timeline.columns.iter().map(|column| column.slots.len()).sum();
        assert_eq!(windows, 164);
    }

    #[test]
    fn the_ribbon_knows_which_level_was_measured_when() {
        let sample = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(1);
        let timeline = Timeline::of(&sample.section()).unwrap();
        let arms = sample.blocks[0].trial.arms();
        for (level, tested) in [(0, false), (1, true)] {
            let times = timeline.times_of(level);
            assert_eq!(times.len(), 2);
            let first = arms.iter().position(|arm| *arm == tested).unwrap() as f64;
            assert!((times[0].0 - 0.3 * first).abs() < 1e-9);
        }
        let nothing = Sample::compared("x", Verdict::Cost, 0.1, 0.01);
        assert!(Timeline::of(&nothing.section()).is_none());
    }
}
