//! Which blocks a verdict and the figures of its variants are based on.

use std::collections::BTreeSet;

use hopcost_core::{BlockRecord, Phase};

use super::case::{Case, Finding};
use crate::plan::Point;
use crate::schedule::Schedule;

impl Case<'_> {
    pub(super) fn counted(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> BTreeSet<u64> {
        let of_point = |point: &Point| {
            let finding = findings.iter().find(|finding| finding.point == *point);
            match finding.filter(|finding| finding.units > 0) {
                Some(Finding { units, .. }) => {
                    let complete = schedule.values(self.blocks, *point);
                    complete.into_iter().take(*units).flat_map(|unit| unit.blocks).collect()
                }
                None => self.without_verdict(*point),
            }
        };
        self.plan.points.iter().flat_map(of_point).collect()
    }

    /// For a point without a verdict: undisturbed fresh blocks, else undisturbed search blocks,
    /// else all.
    fn without_verdict(&self, point: Point) -> Vec<u64> {
        let of_point = |block: &&BlockRecord| Point::of(&block.trial) == point;
        let numbers = |wanted: &dyn Fn(&BlockRecord) -> bool| -> Vec<u64> {
            let blocks = self.blocks.iter().filter(of_point).filter(|block| wanted(block));
            blocks.map(|block| block.trial.number).collect()
        };
        let calm =
            |phase| numbers(&|block| block.trial.phase == phase && block.disturbed().is_none());
        let best = [calm(Phase::Fresh), calm(Phase::Search)];
        let found = best.into_iter().find(|numbers| !numbers.is_empty());
        found.unwrap_or_else(|| numbers(&|block| block.trial.phase != Phase::Placebo))
    }
}
