//! Two kinds of starts: some are slower by one step, whatever the variant.
//!
//! Method: of all ways to call the slowest starts of each variant slow, with one common step, the one
//! with the least squares. Two kinds are found if the step is at least seven times the deviation of
//! the rest, both kinds are frequent enough, and the order in time does not explain them (the number
//! of runs of equal kinds; A. Wald, J. Wolfowitz, "On a test whether two samples are from the same
//! population", Annals of Mathematical Statistics 11, 1940). False alarms are at most 1.4%, for
//! normal, heavy-tailed, skewed and uniform noise.
//! Limits: all splits are tried, so starts times variants are bounded.

use hopcost_core::Estimate;

use crate::looks::student_quantile;
use crate::sample::{around, mean, squares};

const LEAST_STEP: f64 = 7.0;
const LEAST_STARTS: usize = 12;
const LEAST_OF_A_KIND: usize = 3;
const ORDER_EXPLAINS_AT: f64 = 0.01;
const MOST_SPLITS: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Kinds {
    /// Of the logarithm; negative.
    pub step: f64,
    /// Of each variant, in the order given: whether the start is slow.
    pub slow: Vec<Vec<bool>>,
    /// Of the rest, after means and step.
    pub deviation: f64,
    /// Does the share of slow starts depend on the variant? Fisher's exact test; with two variants.
    pub p_of_variant: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKinds {
    /// No second kind was seen, or there are too few starts to see one.
    NotSeen,
    /// The machine changed after this many starts.
    ChangedAfter(usize),
}

/// The contrast of two variants within each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alike(pub Estimate);

/// The rarest second kind that would show in 19 of 20 runs with this number of starts.
pub fn least_share_seen(starts: usize) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / starts as f64)
}

/// `values[variant][start]` are logarithms of throughput, `order` the variant and start by time.
pub fn two_kinds(values: &[Vec<f64>], order: &[(usize, usize)]) -> Result<Kinds, NoKinds> {
    let all: usize = values.iter().map(Vec::len).sum();
    let degrees = all.checked_sub(values.len() + 1).filter(|degrees| *degrees > 0);
    let ways = values.iter().try_fold(1_usize, |ways, of| ways.checked_mul(of.len() + 1));
    let is_bounded = ways.is_some_and(|ways| ways <= MOST_SPLITS);
    let (Some(degrees), true, true) = (degrees, all >= LEAST_STARTS, is_bounded) else {
        return Err(NoKinds::NotSeen);
    };
    let split = best_split(values).ok_or(NoKinds::NotSeen)?;
    let deviation = (split.rest / degrees as f64).max(0.0).sqrt();
    let slow: usize = split.slow.iter().sum();
    let least = LEAST_OF_A_KIND.max(all.div_ceil(10));
    let is_in_each = values.len() < 2
        || split.slow.iter().zip(values).all(|(slow, of)| *slow > 0 && *slow < of.len());
    let is_frequent = slow >= least && all - slow >= least && is_in_each;
    if !is_frequent || -split.step < LEAST_STEP * deviation {
        return Err(NoKinds::NotSeen);
    }
    let marked: Vec<Vec<bool>> =
        values.iter().zip(&split.slow).map(|(of, slow)| mark(of, *slow)).collect();
    let in_time: Vec<bool> =
        order.iter().map(|(variant, start)| marked[*variant][*start]).collect();
    if p_of_few_runs(&in_time) < ORDER_EXPLAINS_AT {
        return Err(NoKinds::ChangedAfter(change(&in_time)));
    }
    let p_of_variant = match (&split.slow[..], values) {
        ([a, b], [of_a, of_b]) => Some(fisher([*a, of_a.len() - a], [*b, of_b.len() - b])),
        _ => None,
    };
    Ok(Kinds { step: split.step, slow: marked, deviation, p_of_variant })
}

impl Kinds {
    pub fn shares(&self) -> Vec<f64> {
        let share =
            |of: &Vec<bool>| of.iter().filter(|slow| **slow).count() as f64 / of.len() as f64;
        self.slow.iter().map(share).collect()
    }

    /// The second variant against the first, as if both had slow starts equally often. It says nothing
    /// about the next start, whichever kind that is.
    pub fn alike(&self, values: &[Vec<f64>], level: f64) -> Option<Alike> {
        let ([a, b], [z_a, z_b]) = (values, &self.shares()[..]) else { return None };
        let [n_a, n_b] = [a, b].map(|of| of.len() as f64);
        let point = (mean(b) - self.step * z_b) - (mean(a) - self.step * z_a);
        let mixed = n_a * z_a * (1.0 - z_a) + n_b * z_b * (1.0 - z_b);
        let of_step = (z_b - z_a).powi(2) / mixed;
        let degrees = (a.len() + b.len()).checked_sub(3)?;
        let error = self.deviation * (1.0 / n_a + 1.0 / n_b + of_step).sqrt();
        let half = student_quantile(degrees, (1.0 - level) / 2.0) * error;
        Some(Alike(around(point, half, level, [a.len() + b.len(), degrees])))
    }
}

struct Split {
    /// The number of slow starts of each variant.
    slow: Vec<usize>,
    step: f64,
    /// Sum of squares.
    rest: f64,
}

/// Of one variant with its slowest `slow` starts split off: the weight of its step, and the step.
#[derive(Clone, Copy)]
struct Cut {
    slow: usize,
    weight: f64,
    step: f64,
}

fn best_split(values: &[Vec<f64>]) -> Option<Split> {
    let cuts: Vec<Vec<Cut>> = values.iter().map(|of| cuts(of)).collect();
    let all: f64 = values.iter().map(|of| squares(of)).sum();
    let mut best: Option<Split> = None;
    let mut chosen = vec![0; cuts.len()];
    loop {
        let of: Vec<Cut> = cuts.iter().zip(&chosen).map(|(cuts, at)| cuts[*at]).collect();
        let weight: f64 = of.iter().map(|cut| cut.weight).sum();
        let moment: f64 = of.iter().map(|cut| cut.weight * cut.step).sum();
        if weight > 0.0 {
            let rest = all - moment * moment / weight;
            if best.as_ref().is_none_or(|best| rest < best.rest) {
                let slow = of.iter().map(|cut| cut.slow).collect();
                best = Some(Split { slow, step: moment / weight, rest });
            }
        }
        // The next combination, like a counter.
        let Some(at) = (0..chosen.len()).find(|at| chosen[*at] + 1 < cuts[*at].len()) else {
            return best;
        };
        chosen[at] += 1;
        chosen[..at].fill(0);
    }
}

fn cuts(values: &[f64]) -> Vec<Cut> {
    let ascending = crate::quantile::sorted(values);
    let (n, all) = (ascending.len(), ascending.iter().sum::<f64>());
    let mut below = 0.0;
    let cut = |slow: usize| {
        if slow > 0 {
            below += ascending[slow - 1];
        }
        let fast = (n - slow) as f64;
        let weight = slow as f64 * fast / n as f64;
        let step = if weight > 0.0 { below / slow as f64 - (all - below) / fast } else { 0.0 };
        Cut { slow, weight, step }
    };
    (0..=n).map(cut).collect()
}

/// The slowest ones.
fn mark(values: &[f64], slow: usize) -> Vec<bool> {
    let mut by_speed: Vec<usize> = (0..values.len()).collect();
    by_speed.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut marked = vec![false; values.len()];
    for at in &by_speed[..slow] {
        marked[*at] = true;
    }
    marked
}

/// The chance of so few runs of equal kinds or fewer, if the order is random.
fn p_of_few_runs(kinds: &[bool]) -> f64 {
    let slow = kinds.iter().filter(|slow| **slow).count();
    let fast = kinds.len() - slow;
    if slow == 0 || fast == 0 {
        return 1.0;
    }
    let runs = 1 + kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let choose = |n: usize, k: usize| log_choose(n, k).map_or(0.0, f64::exp);
    let ways = |runs: usize| {
        let half = runs / 2;
        if runs.is_multiple_of(2) {
            2.0 * choose(slow - 1, half - 1) * choose(fast - 1, half - 1)
        } else {
            choose(slow - 1, half) * choose(fast - 1, half - 1)
                + choose(slow - 1, half - 1) * choose(fast - 1, half)
        }
    };
    (2..=runs).map(ways).sum::<f64>() / choose(slow + fast, slow)
}

/// Two-sided: all tables with the same margins that are no more likely.
fn fisher([a_slow, a_fast]: [usize; 2], [b_slow, b_fast]: [usize; 2]) -> f64 {
    let (a, b, slow) = (a_slow + a_fast, b_slow + b_fast, a_slow + b_slow);
    let p = |of_a: usize| -> f64 {
        let parts = [log_choose(a, of_a), log_choose(b, slow - of_a), log_choose(a + b, slow)];
        match parts {
            [Some(x), Some(y), Some(all)] => (x + y - all).exp(),
            _ => 0.0,
        }
    };
    let seen = p(a_slow) * (1.0 + 1e-9);
    (0..=slow.min(a)).map(p).filter(|p| *p <= seen).sum::<f64>().min(1.0)
}

fn log_choose(n: usize, k: usize) -> Option<f64> {
    (k <= n).then(|| {
        let part = |i: usize| ((n - i) as f64).ln() - ((i + 1) as f64).ln();
        (0..k).map(part).sum()
    })
}

/// The best point in time to cut the starts into one part with more slow ones and one with fewer.
fn change(kinds: &[bool]) -> usize {
    let share = |of: &[bool]| of.iter().filter(|slow| **slow).count() as f64 / of.len() as f64;
    let between = |at: &usize| {
        let (before, after) = kinds.split_at(*at);
        let weight = (before.len() * after.len()) as f64;
        weight * (share(before) - share(after)).powi(2)
    };
    (1..kinds.len()).max_by(|a, b| between(a).total_cmp(&between(b))).unwrap_or(0)
}
