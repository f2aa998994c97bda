//! Compares a run with its baseline. Pure: the result follows from stored blocks.
//!
//! Method: per complete unit (one block of each binding), the mean log throughput of the first
//! variant and the contrast; with several starts, their means over a start. The change is the
//! difference of their means over the two runs. From the fifth run of a name on it is that from the
//! mean of the first four, and the spread of all runs is in the interval (`stats::starts`).
//! Limits: drift cancels from the cost but not from the throughput.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{BlockRecord, Code, Estimate, Known, Phase};
use hopcost_stats::{cost, cost_interval, difference, starts};

use crate::plan::Point;
use crate::schedule::{LEVEL, contrast, log_rate};

/// `runs` came before with the same name.
pub fn caveat(runs: usize) -> String {
    if runs < starts::FIRST_RUNS {
        "this compares two runs: from the fifth run of this name on, the intervals include how much runs \
         of the same thing differ"
            .to_owned()
    } else {
        format!(
            "compared with the mean of the first {} runs of this name; the intervals include how much the \
             {runs} runs before differ from each other",
            starts::FIRST_RUNS
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub worse: Known<Estimate>,
    /// A difference of two shares of throughput.
    pub dearer: Known<Estimate>,
}

impl Change {
    pub fn missing(reason: &str) -> Self {
        let missing = || Known::missing(Code::NotMeasured, reason.to_owned());
        Self { worse: missing(), dearer: missing() }
    }
}

pub fn points(blocks: &[BlockRecord]) -> BTreeSet<Point> {
    fresh(blocks).map(|block| Point::of(&block.trial)).collect()
}

/// The blocks of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    pub blocks: Vec<BlockRecord>,
    /// The mean of a start is one value.
    pub has_starts: bool,
}

/// `runs` are the baseline and all runs since, `now` a like run.
pub fn compare(runs: &[Measured], now: &Measured) -> Change {
    let Some(then) = runs.first() else { return Change::missing("there is no baseline") };
    let [then, of_now] = [then, now].map(|run| points(&run.blocks));
    let common: BTreeSet<Point> = then.intersection(&of_now).copied().collect();
    if common.is_empty() {
        return Change::missing("the two runs have no number of clients in common");
    }
    let units = |run: &Measured| units(&run.blocks, &common, run.has_starts);
    let now = units(now);
    // Of the runs in between, only those that measured it.
    let runs: Vec<Vec<Unit>> = runs.iter().map(units).collect();
    let is_whole = |(n, run): &(usize, &Vec<Unit>)| *n == 0 || run.len() > 1;
    let runs: Vec<&Vec<Unit>> =
        runs.iter().enumerate().filter(is_whole).map(|(_, run)| run).collect();
    let few = || Known::missing(Code::TooFew, "too few whole block sets were undisturbed");
    let changed = |of: fn(&[Unit]) -> Vec<f64>| {
        let runs: Vec<Vec<f64>> = runs.iter().map(|run| of(run)).collect();
        let now = of(&now);
        starts::after_runs(&runs, &now, LEVEL).or_else(|| difference(&runs[0], &now, LEVEL))
    };
    let log_rates = |units: &[Unit]| units.iter().map(|unit| unit.log_rate).collect();
    let worse = changed(log_rates).map(|faster| cost_interval(&faster));
    Change {
        worse: worse.map_or_else(few, Known::Is),
        dearer: changed(costs).map_or_else(few, Known::Is),
    }
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    log_rate: f64,
    contrast: f64,
}

fn fresh(blocks: &[BlockRecord]) -> impl Iterator<Item = &BlockRecord> {
    blocks.iter().filter(|block| block.trial.phase == Phase::Fresh)
}

fn units(blocks: &[BlockRecord], of: &BTreeSet<Point>, has_starts: bool) -> Vec<Unit> {
    let mut by_unit: BTreeMap<u64, Vec<Unit>> = BTreeMap::new();
    // Each start ends with an A/A check.
    let (mut start, mut start_of) = (0, BTreeMap::new());
    // A disturbed block is repeated, so a unit may contain a point and binding several times.
    let mut different = BTreeSet::new();
    for block in blocks {
        start += usize::from(block.trial.phase == Phase::Placebo);
        if block.trial.phase != Phase::Fresh {
            continue;
        }
        start_of.entry(block.trial.unit).or_insert(start);
        let point = Point::of(&block.trial);
        if !of.contains(&point) {
            continue;
        }
        different.insert((point, block.trial.binding));
        by_unit.entry(block.trial.unit).or_default().extend(of_block(block));
    }
    let complete = by_unit.into_iter().filter(|(_, blocks)| blocks.len() == different.len());
    let units = complete.map(|(unit, blocks)| (start_of[&unit], mean(&blocks)));
    if !has_starts {
        return units.map(|(_, unit)| unit).collect();
    }
    let mut by_start: BTreeMap<usize, Vec<Unit>> = BTreeMap::new();
    units.for_each(|(start, unit)| by_start.entry(start).or_default().push(unit));
    by_start.values().map(|units| mean(units)).collect()
}

/// `None` if the block was disturbed.
fn of_block(block: &BlockRecord) -> Option<Unit> {
    Some(Unit { log_rate: log_rate(block)?, contrast: contrast(block)? })
}

fn mean(units: &[Unit]) -> Unit {
    let mean = |of: fn(&Unit) -> f64| units.iter().map(of).sum::<f64>() / units.len() as f64;
    Unit { log_rate: mean(|unit| unit.log_rate), contrast: mean(|unit| unit.contrast) }
}

/// Linearized at the mean of the units, so that the mean of the result is the cost the run reports.
fn costs(units: &[Unit]) -> Vec<f64> {
    let middle = mean(units).contrast;
    let along = |unit: &Unit| cost(middle) - middle.exp() * (unit.contrast - middle);
    units.iter().map(along).collect()
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Disturbance, Trial, Window};

    use super::*;

    /// One start each.
    fn compare(then: &[BlockRecord], now: &[BlockRecord]) -> Change {
        super::compare(&[measured(then, false)], &measured(now, false))
    }

    fn measured(blocks: &[BlockRecord], has_starts: bool) -> Measured {
        Measured { blocks: blocks.to_vec(), has_starts }
    }

    /// Twelve units of two blocks: the first variant at `rate`, the other slower by the share
    /// `cost`, with 1% noise in each window.
    fn run(streams: u32, rate: f64, cost: f64, seed: u64) -> Vec<BlockRecord> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut block = |number: u64| {
            let trial = Trial {
                number,
                phase: Phase::Fresh,
                unit: number / 2,
                streams,
                binding: (number % 2) as usize,
                level: 1,
                baseline_outside: true,
            };
            let mut window = |tested| Window {
                tested,
                rate: rate * (if tested { 1.0 - cost } else { 1.0 }) * (0.99 + 0.02 * rng.f64()),
                ..Window::default()
            };
            let windows = trial.arms().map(&mut window).to_vec();
            BlockRecord { trial, windows, placement: Known::missing(Code::NotMeasured, "a test") }
        };
        (0..24).map(&mut block).collect()
    }

    fn holds(estimate: &Known<Estimate>, truth: f64) -> bool {
        estimate.get().is_some_and(|e| e.low <= truth && truth <= e.high && e.high - e.low < 0.03)
    }

    #[test]
    fn what_changed_is_told_apart() {
        let then = run(2, 1000.0, 0.05, 1);
        let slower = compare(&then, &run(2, 900.0, 0.05, 2));
        assert!(holds(&slower.worse, 0.10) && holds(&slower.dearer, 0.0), "{slower:?}");
        let dearer = compare(&then, &run(2, 1000.0, 0.15, 3));
        assert!(holds(&dearer.worse, 0.0) && holds(&dearer.dearer, 0.10), "{dearer:?}");
        let same = compare(&then, &then);
        assert!(holds(&same.worse, 0.0) && holds(&same.dearer, 0.0), "{same:?}");
    }

    #[test]
    fn the_difference_of_costs_is_that_of_what_was_reported() {
        let (then, now) = (run(2, 1000.0, 0.05, 1), run(2, 1000.0, 0.30, 2));
        let all = BTreeSet::from([Point { streams: 2, level: 1 }]);
        let reported = |blocks: &[BlockRecord]| cost(mean(&units(blocks, &all, false)).contrast);
        let point = compare(&then, &now).dearer.get().unwrap().point;
        assert!((point - (reported(&now) - reported(&then))).abs() < 1e-12);
    }

    #[test]
    fn only_what_both_have_and_what_is_whole_counts() {
        let then = run(2, 1000.0, 0.05, 1);
        let elsewhere = compare(&then, &run(4, 1000.0, 0.05, 2));
        assert!(elsewhere.worse.reason().unwrap().as_str().contains("in common"));
        let mut broken = run(2, 1000.0, 0.05, 2);
        for block in &mut broken {
            block.windows[0].disturbed = Some(Disturbance::Stolen);
        }
        let lost = compare(&then, &broken);
        assert!(lost.worse.reason().unwrap().as_str().contains("too few"), "{lost:?}");
        let mut one_lost = run(2, 900.0, 0.05, 2);
        one_lost[7].windows[1] = Window { rate: 1e9, ..one_lost[7].windows[1].clone() };
        one_lost[6].windows[1].disturbed = Some(Disturbance::Stolen);
        let worse = compare(&then, &one_lost).worse;
        assert!(holds(&worse, 0.10), "a block without its fellow counts for nothing: {worse:?}");
    }

    #[test]
    fn runs_that_differ_widen_what_is_said_of_the_next() {
        let now = run(2, 900.0, 0.05, 2);
        let rates = [1000.0, 950.0, 1040.0, 990.0, 1030.0];
        let one = |(rate, seed)| measured(&run(2, rate, 0.05, seed), false);
        let runs: Vec<Measured> = rates.into_iter().zip(3..).map(one).collect();
        let width = |estimate: &Known<Estimate>| estimate.get().map(|e| e.high - e.low).unwrap();
        let [alone, few, among] =
            [1, 3, 5].map(|before| super::compare(&runs[..before], &measured(&now, false)));
        assert_eq!(alone, few, "three runs say nothing of the next");
        assert!(width(&among.worse) > 5.0 * width(&alone.worse), "{among:?}");
        assert!(width(&among.dearer) < 5.0 * width(&alone.dearer), "the cost is each run's own");
        let from_first_four = 1.0 - 900.0 / 995.0;
        assert!((among.worse.get().unwrap().point - from_first_four).abs() < 0.005, "{among:?}");
        assert!(caveat(3).contains("compares two runs"));
        assert!(caveat(5).contains("the 5 runs before"));
    }

    /// Six starts of two units, each with a luck of its own, and a check at its end.
    fn of_starts(seed: u64) -> Vec<BlockRecord> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut luck = 1.0;
        let mut blocks = Vec::new();
        for block in run(2, 1000.0, 0.05, seed) {
            if block.trial.number % 4 == 0 {
                luck = 0.9 + 0.2 * rng.f64();
            }
            let ends = block.trial.number % 4 == 3;
            let mut block = block;
            block.windows.iter_mut().for_each(|window| window.rate *= luck);
            let check = Trial { phase: Phase::Placebo, ..block.trial };
            let check = BlockRecord { trial: check, ..block.clone() };
            blocks.push(block);
            blocks.extend(ends.then_some(check));
        }
        blocks
    }

    #[test]
    fn with_several_starts_the_start_is_the_unit() {
        let [then, now] = [of_starts(1), of_starts(2)];
        let half = |has_starts: bool| {
            let [then, now] = [&then, &now].map(|blocks| measured(blocks, has_starts));
            let worse = super::compare(&[then], &now).worse;
            let worse = *worse.get().unwrap();
            (worse.n, worse.high - worse.low)
        };
        let [(blocks, narrow), (starts, wide)] = [half(false), half(true)];
        assert_eq!((blocks, starts), (24, 12));
        assert!(wide > 1.2 * narrow, "{wide} {narrow}");
    }
}
