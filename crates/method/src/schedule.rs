//! Which block comes next. Pure: a killed run can be resumed from its blocks.
//!
//! Method: a search for the worst point, if requested; then fresh units of the reported points
//! until all intervals are narrow at a look or the budget is spent, with an A/A check every few
//! units and one long block at the end. A disturbed fresh block is repeated at once, whatever its
//! result. With several starts, each has its share of the units and one A/A check at its end, and
//! looks come between them.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{BlockRecord, Estimate, Phase, Trial, Window};
use hopcost_stats::{Block, Goal, Looks, WorstSet, cost, find_worst};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Point};

/// Stored with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    pub window_s: f64,
    /// Discarded start of a window.
    pub guard_s: f64,
    /// 0 if the plan has one point.
    pub search_units: u64,
    pub most_units: u64,
    /// Fresh units between A/A checks.
    pub placebo_every: u64,
    /// Of each window of the long block; `None` omits the block.
    pub long_s: Option<f64>,
    /// For the whole run; `None` measures all units however long they take.
    pub budget_s: Option<f64>,
    /// Half the width of a narrow interval.
    pub half_width: f64,
    pub margin: f64,
    pub seed: u64,
    /// `None`: all units are measured within one start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
}

/// Each start gives one value to the interval: the mean contrast of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    pub number: u64,
    /// Fresh units in each.
    pub units: u64,
}

/// Fewer starts give no verdict.
pub const LEAST_STARTS: u64 = 6;

/// A run that has too few starts for a verdict, because blocks were disturbed, may take longer.
const MOST_BUDGETS: f64 = 1.5;

pub const LEVEL: f64 = 0.95;

/// Of each of several intervals, so that all hold together.
fn level_of(comparisons: usize) -> f64 {
    1.0 - (1.0 - LEVEL) / comparisons.max(1) as f64
}

impl Pace {
    pub fn goal(&self, comparisons: usize) -> Goal {
        match self.starts {
            Some(Starts { number, .. }) => self.goal_with(number, comparisons),
            None => self.goal_by(Looks::up_to(self.most_units as usize, level_of(comparisons))),
        }
    }

    /// With this many starts.
    pub fn goal_with(&self, starts: u64, comparisons: usize) -> Goal {
        let all = starts as usize;
        self.goal_by(Looks::between(Looks::FIRST.min(all), all, level_of(comparisons)))
    }

    fn goal_by(&self, looks: Looks) -> Goal {
        Goal { looks, half_width: self.half_width, margin: self.margin, seed: self.seed }
    }

    /// Lower bound of the share done, upper bound of the time left.
    pub fn progress(&self, block: &BlockRecord, elapsed_s: f64) -> (f64, Duration) {
        let units = match block.trial.phase {
            Phase::Search => 0,
            Phase::Fresh | Phase::Placebo => block.trial.unit,
            Phase::Long => self.most_units,
        };
        let by_units = units as f64 / self.most_units as f64;
        let by_time = self.budget_s.map_or(0.0, |budget_s| elapsed_s / budget_s);
        let done = by_units.max(by_time).clamp(0.0, 1.0);
        let left_s = match self.budget_s {
            Some(budget_s) => (budget_s - elapsed_s).max(0.0),
            None => elapsed_s / done.max(0.01) - elapsed_s,
        };
        (done, Duration::from_secs_f64(left_s))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct CompleteUnit {
    pub number: u64,
    pub blocks: Vec<u64>,
    /// The mean log ratio of throughputs over the bindings.
    pub contrast: f64,
    pub end_s: f64,
}

#[derive(Debug)]
pub struct Schedule<'a> {
    plan: &'a Plan,
    pace: &'a Pace,
    find_worst: bool,
    goal: Goal,
}

impl<'a> Schedule<'a> {
    pub fn new(plan: &'a Plan, pace: &'a Pace, find_worst: bool) -> Self {
        let reported = if find_worst { 1 } else { plan.points.len() };
        Self { plan, pace, find_worst, goal: pace.goal(reported) }
    }

    /// In a fresh unit: one of each reported point and binding.
    fn blocks_of_unit(&self) -> u64 {
        let reported = if self.search_blocks() > 0 { 1 } else { self.plan.points.len() };
        (reported * self.plan.bindings.len()) as u64
    }

    /// `None` if the run is complete.
    pub fn next(&self, blocks: &[BlockRecord], elapsed_s: f64) -> Option<Trial> {
        let number = blocks.len() as u64;
        // A void run still completes its unit, to show what is void in each binding.
        let is_void = blocks.iter().any(|block| block.objection().is_some());
        if let Some(trial) = self.search(number) {
            let begins_unit = blocks.last().is_none_or(|last| last.trial.unit != trial.unit);
            return (!(is_void && begins_unit)).then_some(trial);
        }
        let points = self.reported(blocks);
        let (begun, of_unit) = (done_or_given_up(blocks), self.blocks_of_unit());
        let placebos = blocks.iter().filter(|b| b.trial.phase == Phase::Placebo).count() as u64;
        let (unit, within) = (begun / of_unit, begun % of_unit);
        let between_units = within == 0;
        let between_starts = self.pace.starts.is_none_or(|of| unit.is_multiple_of(of.units));
        if is_void && between_units {
            return None;
        }
        if between_units && unit / self.pace.placebo_every > placebos {
            return Some(self.placebo(number, placebos, points[0].streams));
        }
        let is_spent = fresh(blocks).count() as u64 >= MOST_TRIES * self.pace.most_units * of_unit;
        // One unit is always measured: the expensive setup is already done.
        let may_end = between_units && between_starts && unit > 0;
        if may_end && (is_spent || self.is_over(blocks, &points, elapsed_s)) {
            return self.long(blocks, number, points[0]);
        }
        Some(self.of_unit(number, Phase::Fresh, unit, within, &points))
    }

    /// The worst point by the search, or all points.
    pub fn reported(&self, blocks: &[BlockRecord]) -> Vec<Point> {
        match self.worst(blocks) {
            Some(found) => vec![self.plan.points[found.worst]],
            None => self.plan.points.clone(),
        }
    }

    pub fn worst(&self, blocks: &[BlockRecord]) -> Option<WorstSet> {
        if self.search_blocks() == 0 {
            return None;
        }
        let costs: Vec<Vec<f64>> = self
            .plan
            .points
            .iter()
            .map(|point| self.contrasts(blocks, Phase::Search, *point))
            .map(|contrasts| contrasts.into_iter().map(cost).collect())
            .collect();
        let least = costs.iter().map(Vec::len).min().unwrap_or(0);
        let equal: Vec<Vec<f64>> =
            costs.iter().map(|of_point| of_point[..least].to_vec()).collect();
        // If all blocks were disturbed nothing is known, and the first point is as good as any.
        Some(
            find_worst(&equal, LEVEL).unwrap_or(WorstSet {
                worst: 0,
                not_excluded: (1..self.plan.points.len()).collect(),
            }),
        )
    }

    pub fn contrasts(&self, blocks: &[BlockRecord], phase: Phase, point: Point) -> Vec<f64> {
        contrasts(&self.units(blocks, phase, point))
    }

    pub fn units(&self, blocks: &[BlockRecord], phase: Phase, point: Point) -> Vec<CompleteUnit> {
        self.units_by(contrast, blocks, phase, point)
    }

    /// What the interval is over: the fresh units, or the starts that are complete.
    pub fn values(&self, blocks: &[BlockRecord], point: Point) -> Vec<CompleteUnit> {
        self.values_by(contrast, blocks, point)
    }

    /// With a contrast of another figure than throughput, or the figure itself.
    pub(crate) fn values_by(
        &self,
        contrast: impl Fn(&BlockRecord) -> Option<f64>,
        blocks: &[BlockRecord],
        point: Point,
    ) -> Vec<CompleteUnit> {
        let units = self.units_by(contrast, blocks, Phase::Fresh, point);
        match self.pace.starts {
            None => units,
            Some(_) => self.in_starts(units, blocks).iter().filter_map(|of| start(of)).collect(),
        }
    }

    /// The units of each complete start that has any. Empty with one start.
    pub fn by_start(&self, blocks: &[BlockRecord], point: Point) -> Vec<Vec<CompleteUnit>> {
        self.in_starts(self.units(blocks, Phase::Fresh, point), blocks)
    }

    fn in_starts(
        &self,
        mut units: Vec<CompleteUnit>,
        blocks: &[BlockRecord],
    ) -> Vec<Vec<CompleteUnit>> {
        let Some(of) = self.pace.starts else { return Vec::new() };
        let complete = done_or_given_up(blocks) / self.blocks_of_unit() / of.units;
        units.retain(|unit| unit.number / of.units < complete);
        let starts = units.chunk_by(|a, b| a.number / of.units == b.number / of.units);
        starts.map(<[CompleteUnit]>::to_vec).collect()
    }

    /// The start that a trial is measured in. An A/A check belongs to the start before it.
    pub fn start_of(&self, trial: &Trial) -> u64 {
        match (self.pace.starts, trial.phase) {
            (Some(of), Phase::Fresh) => trial.unit / of.units,
            (Some(_), Phase::Placebo) => trial.unit,
            _ => 0,
        }
    }

    /// How many blocks to keep when a run goes on in another process: a start that was not completed
    /// is measured anew. A complete start ends with its A/A check.
    pub fn kept(&self, blocks: &[BlockRecord]) -> usize {
        if self.pace.starts.is_none() {
            return blocks.len();
        }
        let last = blocks.iter().rposition(|block| block.trial.phase == Phase::Placebo);
        last.map_or(0, |last| last + 1)
    }

    /// Whether the run goes on in another start, of which `before` blocks had been measured when this
    /// one began. A start that adds nothing ends the run: its budget was spent before its first block.
    pub fn needs_a_start(&self, blocks: &[BlockRecord], before: usize) -> bool {
        let elapsed_s = blocks.last().map_or(0.0, BlockRecord::end_s);
        blocks.len() > before && self.next(blocks, elapsed_s).is_some()
    }

    /// With a contrast of a figure other than throughput.
    pub(crate) fn units_by(
        &self,
        contrast: impl Fn(&BlockRecord) -> Option<f64>,
        blocks: &[BlockRecord],
        phase: Phase,
        point: Point,
    ) -> Vec<CompleteUnit> {
        let of_point: Vec<&BlockRecord> = blocks
            .iter()
            .filter(|block| block.trial.phase == phase && Point::of(&block.trial) == point)
            .collect();
        let last = of_point.last().map_or(0, |block| block.trial.unit + 1);
        let unit = |unit| {
            let of_unit: Vec<&&BlockRecord> =
                of_point.iter().filter(|block| block.trial.unit == unit).collect();
            let measured = |block: &&&BlockRecord| Some((block.trial.number, contrast(block)?));
            let (blocks, contrasts): (Vec<u64>, Vec<f64>) =
                of_unit.iter().filter_map(measured).unzip();
            (contrasts.len() == self.plan.bindings.len()).then(|| CompleteUnit {
                number: unit,
                blocks,
                contrast: contrasts.iter().sum::<f64>() / contrasts.len() as f64,
                end_s: of_unit.iter().map(|block| block.end_s()).fold(0.0, f64::max),
            })
        };
        (0..last).filter_map(unit).collect()
    }

    fn search_blocks(&self) -> u64 {
        let points = self.plan.points.len();
        let searched = self.find_worst && points > 1;
        if searched {
            self.pace.search_units * (points * self.plan.bindings.len()) as u64
        } else {
            0
        }
    }

    fn search(&self, number: u64) -> Option<Trial> {
        let of_unit = (self.plan.points.len() * self.plan.bindings.len()) as u64;
        let (unit, within) = (number / of_unit, number % of_unit);
        (number < self.search_blocks())
            .then(|| self.of_unit(number, Phase::Search, unit, within, &self.plan.points))
    }

    fn of_unit(&self, number: u64, phase: Phase, unit: u64, n: u64, points: &[Point]) -> Trial {
        let bindings = 0..self.plan.bindings.len();
        let mut order: Vec<(Point, usize)> = points
            .iter()
            .flat_map(|&p| bindings.clone().map(move |binding| (p, binding)))
            .collect();
        let of_phase = (phase as u64 + 1) << 40;
        Rng::with_seed(self.pace.seed ^ of_phase ^ unit).shuffle(&mut order);
        let (point, binding) = order[n as usize];
        self.trial(number, phase, unit, point, binding)
    }

    fn placebo(&self, number: u64, unit: u64, streams: u32) -> Trial {
        let binding = unit as usize % self.plan.bindings.len();
        self.trial(number, Phase::Placebo, unit, Point { streams, level: 0 }, binding)
    }

    fn long(&self, blocks: &[BlockRecord], number: u64, point: Point) -> Option<Trial> {
        let done = blocks.iter().any(|block| block.trial.phase == Phase::Long);
        let wanted = self.pace.long_s.is_some() && !done;
        wanted.then(|| self.trial(number, Phase::Long, 0, point, 0))
    }

    fn trial(&self, number: u64, phase: Phase, unit: u64, point: Point, binding: usize) -> Trial {
        let coin = Rng::with_seed(self.pace.seed.rotate_left(17) ^ number).bool();
        let Point { streams, level } = point;
        Trial { number, phase, unit, streams, binding, level, baseline_outside: coin }
    }

    /// The cost of the first reported point, if its number of units is that of a look.
    pub fn look(&self, blocks: &[BlockRecord]) -> Option<Estimate> {
        let point = *self.reported(blocks).first()?;
        Some(self.goal.look(&contrasts(&self.values(blocks, point)))?.cost)
    }

    fn is_over(&self, blocks: &[BlockRecord], points: &[Point], elapsed_s: f64) -> bool {
        let found: Vec<Vec<f64>> =
            points.iter().map(|point| contrasts(&self.values(blocks, *point))).collect();
        let most = self.pace.starts.map_or(self.pace.most_units, |of| of.number);
        let is_enough = |found: &Vec<f64>| {
            let is_narrow = || self.goal.look(found).is_some_and(|it| it.is_narrow);
            found.len() as u64 >= most || is_narrow()
        };
        let has_no_verdict = |found: &Vec<f64>| (found.len() as u64) < LEAST_STARTS;
        let needs_starts = self.pace.starts.is_some() && found.iter().any(has_no_verdict);
        let budgets = if needs_starts { MOST_BUDGETS } else { 1.0 };
        let spent = self.pace.budget_s.is_some_and(|budget_s| elapsed_s >= budgets * budget_s);
        spent || found.iter().all(is_enough)
    }
}

/// Of the baseline's windows. `None` if the block was disturbed.
pub(crate) fn log_rate(block: &BlockRecord) -> Option<f64> {
    let (baseline, _) = contrast(block).and_then(|_| block.rates())?;
    Some(baseline.map(f64::ln).iter().sum::<f64>() / 2.0)
}

pub(crate) fn contrasts(units: &[CompleteUnit]) -> Vec<f64> {
    units.iter().map(|unit| unit.contrast).collect()
}

/// `None` without units.
fn start(units: &[CompleteUnit]) -> Option<CompleteUnit> {
    let contrasts: f64 = contrasts(units).iter().sum();
    Some(CompleteUnit {
        number: units.first()?.number,
        blocks: units.iter().flat_map(|unit| unit.blocks.clone()).collect(),
        contrast: contrasts / units.len() as f64,
        end_s: units.last()?.end_s,
    })
}

fn fresh(blocks: &[BlockRecord]) -> impl Iterator<Item = &BlockRecord> {
    blocks.iter().filter(|block| block.trial.phase == Phase::Fresh)
}

const MOST_TRIES: u64 = 4;

/// Fresh blocks that are done: undisturbed, or out of tries.
fn done_or_given_up(blocks: &[BlockRecord]) -> u64 {
    let count = |(done, tries): (u64, u64), block: &BlockRecord| {
        let is_behind = block.disturbed().is_none() || tries + 1 == MOST_TRIES;
        if is_behind { (done + 1, 0) } else { (done, tries + 1) }
    };
    fresh(blocks).fold((0, 0), count).0
}

/// `None` if the block was disturbed or a window has no throughput.
pub(crate) fn contrast(block: &BlockRecord) -> Option<f64> {
    contrast_by(|window| Some(window.rate), block)
}

pub(crate) fn contrast_by(of: impl Fn(&Window) -> Option<f64>, block: &BlockRecord) -> Option<f64> {
    if block.disturbed().is_some() {
        return None;
    }
    let (a, b) = block.pairs(of)?;
    Block { a, b }.contrast()
}
