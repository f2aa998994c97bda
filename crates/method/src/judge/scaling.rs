//! How throughput grows with the number of clients, per variant.
//!
//! Method: `stats::usl` on the mean rates of undisturbed blocks.

use std::collections::BTreeSet;

use hopcost_core::{Estimate, Known, Scaling, ScalingLaw};
use hopcost_stats::{Rate, fit_law};

use super::case::Case;
use crate::plan::Point;

impl Case<'_> {
    pub(super) fn scaling(&self) -> Vec<Scaling> {
        let levels = self.plan.levels.iter().enumerate();
        levels
            .filter(|_| self.comparison.find_scaling)
            .map(|(n, level)| Scaling { level: level.clone(), law: self.law(n) })
            .collect()
    }

    fn law(&self, level: usize) -> Known<ScalingLaw> {
        let all: BTreeSet<u32> = self.plan.points.iter().map(|point| point.streams).collect();
        let rates: Vec<Rate> = all
            .into_iter()
            .filter_map(|streams| {
                let of = self.score(Point { streams, level })?;
                let [low, point, high] = [of.low, of.point, of.high].map(|it| self.response(it));
                Some(Rate { streams, rate: Estimate { low, point, high, ..of } })
            })
            .collect();
        let boundaries = self.plan.boundaries.get(level).map_or(&[][..], Vec::as_slice);
        fit_law(&rates, boundaries, self.pace.seed)
    }
}
