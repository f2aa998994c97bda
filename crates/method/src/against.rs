//! Compares a run with its baseline. Pure: the result follows from stored blocks.
//!
//! Method: per complete unit (one block of each binding), the mean log throughput of the first
//! variant and the contrast; the change is the difference of their means over the two runs. From
//! four starts on, the spread between starts widens the intervals (`stats::across_runs`).
//! Limits: drift cancels from the cost but not from the throughput.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{Against, BlockRecord, Code, Estimate, Known, Phase};
use hopcost_stats::{LEAST_RUNS, across_runs, cost, cost_interval, difference};

use crate::plan::Point;
use crate::schedule::{LEVEL, contrast};

/// `earlier` are the runs compared with the same baseline.
pub fn caveat(earlier: &[Against]) -> String {
    let starts = 1 + earlier.iter().filter(|against| against.worse.get().is_some()).count();
    if starts < LEAST_RUNS {
        "this compares two starts, one each: from the fifth run of this name on, the intervals include \
         how much starts of the same thing differ"
            .to_owned()
    } else {
        format!("the intervals include how much the {starts} starts before differ from each other")
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

/// `then` are the baseline's blocks, `now` those of a like run; `earlier` are the runs in between.
/// With several starts in each run, the mean of a start is one value.
pub fn compare(
    then: &[BlockRecord],
    now: &[BlockRecord],
    earlier: &[Against],
    has_starts: bool,
) -> Change {
    let common: BTreeSet<Point> = points(then).intersection(&points(now)).copied().collect();
    if common.is_empty() {
        return Change::missing("the two runs have no number of clients in common");
    }
    let [then, now] = [then, now].map(|blocks| units(blocks, &common, has_starts));
    let few = || Known::missing(Code::TooFew, "too few whole block sets were undisturbed");
    let known = |estimate: Option<Estimate>| estimate.map_or_else(few, Known::Is);
    let rates = |units: &[Unit]| units.iter().map(|unit| unit.log_rate).collect::<Vec<f64>>();
    let log_rates = starts(earlier, |against| Some((-against.worse.get()?.point).ln_1p()));
    let faster = difference(&rates(&then), &rates(&now), LEVEL);
    let worse = faster.map(|faster| cost_interval(&across_runs(&faster, &log_rates)));
    let rises = starts(earlier, |against| Some(against.dearer.get()?.point));
    let dearer = difference(&costs(&then), &costs(&now), LEVEL);
    let dearer = dearer.map(|dearer| across_runs(&dearer, &rises));
    Change { worse: known(worse), dearer: known(dearer) }
}

/// Each start's difference from the baseline, which is the first.
fn starts(earlier: &[Against], of: impl Fn(&Against) -> Option<f64>) -> Vec<f64> {
    std::iter::once(0.0).chain(earlier.iter().filter_map(of)).collect()
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
    let contrast = contrast(block)?;
    let (baseline, _) = block.rates()?;
    Some(Unit { log_rate: baseline.map(f64::ln).iter().sum::<f64>() / 2.0, contrast })
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
    fn compare(then: &[BlockRecord], now: &[BlockRecord], earlier: &[Against]) -> Change {
        super::compare(then, now, earlier, false)
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
        let slower = compare(&then, &run(2, 900.0, 0.05, 2), &[]);
        assert!(holds(&slower.worse, 0.10) && holds(&slower.dearer, 0.0), "{slower:?}");
        let dearer = compare(&then, &run(2, 1000.0, 0.15, 3), &[]);
        assert!(holds(&dearer.worse, 0.0) && holds(&dearer.dearer, 0.10), "{dearer:?}");
        let same = compare(&then, &then, &[]);
        assert!(holds(&same.worse, 0.0) && holds(&same.dearer, 0.0), "{same:?}");
    }

    #[test]
    fn the_difference_of_costs_is_that_of_what_was_reported() {
        let (then, now) = (run(2, 1000.0, 0.05, 1), run(2, 1000.0, 0.30, 2));
        let all = BTreeSet::from([Point { streams: 2, level: 1 }]);
        let reported = |blocks: &[BlockRecord]| cost(mean(&units(blocks, &all, false)).contrast);
        let point = compare(&then, &now, &[]).dearer.get().unwrap().point;
        assert!((point - (reported(&now) - reported(&then))).abs() < 1e-12);
    }

    #[test]
    fn only_what_both_have_and_what_is_whole_counts() {
        let then = run(2, 1000.0, 0.05, 1);
        let elsewhere = compare(&then, &run(4, 1000.0, 0.05, 2), &[]);
        assert!(elsewhere.worse.reason().unwrap().as_str().contains("in common"));
        let mut broken = run(2, 1000.0, 0.05, 2);
        for block in &mut broken {
            block.windows[0].disturbed = Some(Disturbance::Stolen);
        }
        let lost = compare(&then, &broken, &[]);
        assert!(lost.worse.reason().unwrap().as_str().contains("too few"), "{lost:?}");
        let mut one_lost = run(2, 900.0, 0.05, 2);
        one_lost[7].windows[1] = Window { rate: 1e9, ..one_lost[7].windows[1].clone() };
        one_lost[6].windows[1].disturbed = Some(Disturbance::Stolen);
        let worse = compare(&then, &one_lost, &[]).worse;
        assert!(holds(&worse, 0.10), "a block without its fellow counts for nothing: {worse:?}");
    }

    #[test]
    fn starts_that_differ_widen_what_is_said_of_the_next() {
        let (then, now) = (run(2, 1000.0, 0.05, 1), run(2, 900.0, 0.05, 2));
        let start = |seed: u64, rate: f64| {
            let Change { worse, dearer } = compare(&then, &run(2, rate, 0.05, seed), &[]);
            let (baseline, notes) = ("main".to_owned(), Vec::new());
            Against { baseline, run: 1, begun_s: 0, is_first: false, worse, dearer, notes }
        };
        let earlier = [start(3, 950.0), start(4, 1040.0), start(5, 990.0), start(6, 1030.0)];
        let width = |estimate: &Known<Estimate>| estimate.get().map(|e| e.high - e.low).unwrap();
        let [alone, few, among] =
            [&earlier[..0], &earlier[..2], &earlier].map(|all| compare(&then, &now, all));
        assert_eq!(alone, few, "three starts say nothing of the next");
        assert!(width(&among.worse) > 5.0 * width(&alone.worse), "{among:?}");
        assert!(width(&among.dearer) < 5.0 * width(&alone.dearer), "the cost is each run's own");
        assert!(caveat(&earlier[..2]).contains("compares two starts"));
        assert!(caveat(&earlier).contains("the 5 starts before"));
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
            let worse = super::compare(&then, &now, &[], has_starts).worse;
            let worse = *worse.get().unwrap();
            (worse.n, worse.high - worse.low)
        };
        let [(blocks, narrow), (starts, wide)] = [half(false), half(true)];
        assert_eq!((blocks, starts), (24, 12));
        assert!(wide > 1.2 * narrow, "{wide} {narrow}");
    }
}
