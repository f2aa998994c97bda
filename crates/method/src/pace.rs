//! Durations and block counts of a run, from its options and its pilot.

use hopcost_core::Effort;
use hopcost_stats::{blocks_needed, starts};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::schedule::{LEAST_STARTS, Pace, Starts};

#[derive(Clone, Debug, PartialEq)]
pub struct Wishes {
    pub effort: Effort,
    pub budget_s: Option<f64>,
    pub window_s: Option<f64>,
    pub guard_s: Option<f64>,
    pub units: Option<u64>,
    /// Half the width of the interval.
    pub half_width: Option<f64>,
    pub margin: Option<f64>,
    pub seed: u64,
    pub starts: StartsAsked,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartsAsked {
    #[default]
    One,
    /// Measured however long they take.
    Number(u64),
    /// As many as the time allows, or one.
    Usual,
}

impl Wishes {
    pub fn of(effort: Effort, seed: u64) -> Self {
        Self {
            effort,
            budget_s: None,
            window_s: None,
            guard_s: None,
            units: None,
            half_width: None,
            margin: None,
            seed,
            starts: StartsAsked::One,
        }
    }

    /// Stored identities are compared as text, so this never changes; a new option is only written
    /// if it is set.
    pub fn written(&self) -> String {
        let Self { effort, budget_s, window_s, guard_s, units, half_width, margin, seed, starts } =
            self;
        let starts = match starts {
            // What is kept with a run says how many there were.
            StartsAsked::One | StartsAsked::Usual => String::new(),
            StartsAsked::Number(number) => format!(", starts: {number}"),
        };
        let effort = match effort {
            Effort::Quick => "Quick",
            Effort::Normal => "Normal",
            Effort::Full => "Full",
        };
        format!(
            "Wishes {{ effort: {effort}, budget_s: {budget_s:?}, window_s: {window_s:?}, \
             guard_s: {guard_s:?}, units: {units:?}, half_width: {half_width:?}, margin: {margin:?}, \
             seed: {seed}{starts} }}"
        )
    }
}

pub struct Means {
    budget_s: f64,
    /// 0: no pilot.
    pub pilot_s: f64,
    pub longest_window_s: f64,
    half_width: f64,
    search_units: u64,
    long_s: Option<f64>,
}

impl Means {
    pub const fn of(effort: Effort) -> Self {
        match effort {
            Effort::Quick => Self {
                budget_s: 40.0,
                pilot_s: 0.0,
                longest_window_s: 0.2,
                half_width: 0.03,
                search_units: 3,
                long_s: None,
            },
            Effort::Normal => Self {
                budget_s: 240.0,
                pilot_s: 8.0,
                longest_window_s: 2.0,
                half_width: 0.01,
                search_units: 4,
                long_s: Some(4.0),
            },
            Effort::Full => Self {
                budget_s: 1200.0,
                pilot_s: 40.0,
                longest_window_s: 8.0,
                half_width: 0.007,
                search_units: 6,
                long_s: Some(60.0),
            },
        }
    }
}

pub fn budget_s(wishes: &Wishes) -> f64 {
    wishes.budget_s.unwrap_or(Means::of(wishes.effort).budget_s)
}

/// The shortest useful quick run: a search and eight units.
pub fn least_s(plan: &Plan, find_worst: bool) -> f64 {
    let window_s = QUICK_WINDOW_S + QUICK_GUARD_S + AROUND_S;
    let blocks = Blocks::of(plan, find_worst, window_s);
    let search_units = Means::of(Effort::Quick).search_units as f64;
    search_units * blocks.search_s + LEAST_UNITS as f64 * blocks.unit_s
}

pub const QUICK_WINDOW_S: f64 = 0.2;
pub const QUICK_GUARD_S: f64 = 0.05;
pub const AROUND_S: f64 = 0.01;
const MARGIN: f64 = 0.03;
/// A standard deviation takes more calls than a mean.
const LONGER_FOR_SPREAD: f64 = 3.0;
/// The minimum for a first look.
pub const LEAST_UNITS: u64 = 8;
const PLACEBO_EVERY: u64 = 4;
/// One alone would not show what varies within a start.
pub const LEAST_UNITS_OF_A_START: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub window_s: f64,
    pub guard_s: f64,
    /// Relative, for windows of this length; `None` without a pilot.
    pub deviation: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Whether windows end by time instead of after whole calls.
    pub are_sliced: bool,
    pub ask_for_spread: bool,
    /// From the begin of this start to its first window.
    pub start_s: f64,
}

impl Pace {
    pub fn of(
        found: Found,
        plan: &Plan,
        find_worst: bool,
        wishes: &Wishes,
        calls: Calls,
    ) -> (Self, Option<String>) {
        let means = Means::of(wishes.effort);
        let longer = if calls.ask_for_spread { LONGER_FOR_SPREAD } else { 1.0 };
        let window_s = wishes.window_s.unwrap_or(longer * found.window_s);
        let guard_s = wishes.guard_s.unwrap_or(found.guard_s);
        let budget_s = budget_s(wishes);
        let half_width = wishes.half_width.unwrap_or(means.half_width);
        let blocks = Blocks::of(plan, find_worst, window_s + guard_s + AROUND_S);
        let search_s = blocks.search_s * means.search_units as f64;
        // Each crew warms up in each start; the baseline has two.
        let crews = plan.bindings.len() * (plan.levels.len() + 1);
        let start_s = calls.start_s + crews as f64 * (window_s + guard_s);
        let starts = match wishes.starts {
            StartsAsked::One => None,
            StartsAsked::Number(number) => {
                let of_start_s = (budget_s - search_s) / number as f64 - start_s;
                let affordable = (of_start_s / blocks.unit_s) as u64;
                let units = wishes.units.unwrap_or(affordable).max(LEAST_UNITS_OF_A_START);
                Some(Starts { number, units })
            }
            StartsAsked::Usual if plan.is_of_law() || wishes.units.is_some() => None,
            StartsAsked::Usual => usual(wishes.effort, budget_s - search_s, start_s, blocks.unit_s),
        };
        let is_usual = wishes.starts == StartsAsked::Usual;
        // A requested number of units or starts is measured however long it takes.
        let is_fixed = wishes.units.is_some() || (starts.is_some() && !is_usual);
        let long_s = means.long_s.filter(|_| !is_fixed && starts.is_none() && calls.are_sliced);
        let left_s = budget_s - search_s - long_s.map_or(0.0, |long_s| 4.0 * (long_s + guard_s));
        let affordable = (left_s / blocks.unit_s) as u64;
        let most_units = match starts {
            Some(Starts { number, units }) => number * units,
            None => wishes.units.unwrap_or(affordable).max(LEAST_UNITS),
        };
        // A scaling law needs looks at all client counts, and a reserve for disturbed blocks.
        let limit_s = if plan.is_of_law() && wishes.budget_s.is_none() {
            budget_s.max(search_s + 2.0 * LEAST_UNITS as f64 * blocks.unit_s)
        } else {
            // Of measuring: all starts but the last one may take longer than they seem to.
            let begun = starts.map_or(0, |starts| starts.number - 1);
            budget_s - begun as f64 * calls.start_s
        };
        let pace = Self {
            window_s,
            guard_s,
            search_units: if blocks.search_s > 0.0 { means.search_units } else { 0 },
            most_units,
            placebo_every: match starts {
                Some(Starts { units, .. }) => units,
                None if plan.is_score() => u64::MAX,
                None => PLACEBO_EVERY,
            },
            long_s,
            budget_s: (!is_fixed).then_some(limit_s),
            half_width,
            margin: wishes.margin.unwrap_or(MARGIN),
            seed: wishes.seed,
            starts,
        };
        let warning = found.deviation.and_then(|deviation| {
            let of_unit = deviation / (plan.bindings.len() as f64).sqrt();
            let needed = blocks_needed(of_unit, half_width) as u64;
            (needed > most_units && !is_fixed).then(|| {
                let minutes = (search_s + needed as f64 * blocks.unit_s) / 60.0;
                format!(
                    "the pilot was noisy: ±{:.1}% needs about {needed} block sets, and the budget has time for \
                     {most_units}. --budget {:.0}m would suffice",
                    100.0 * half_width,
                    minutes.ceil()
                )
            })
        });
        (pace, warning)
    }
}

/// Measures in a start as long as starting takes. `None`: too few starts fit for a verdict.
fn usual(effort: Effort, budget_s: f64, start_s: f64, unit_s: f64) -> Option<Starts> {
    let least_s = start_s + LEAST_UNITS_OF_A_START as f64 * unit_s;
    let (most, of_starting) = match effort {
        Effort::Quick => (LEAST_STARTS, 0.5),
        Effort::Normal | Effort::Full => (20, 1.0),
    };
    let fit = (budget_s / least_s) as u64;
    if fit < LEAST_STARTS || LEAST_STARTS as f64 * start_s > of_starting * budget_s {
        return None;
    }
    let found = starts::length(budget_s, start_s, unit_s, Some(most as usize));
    let units = (found.windows as u64).max(LEAST_UNITS_OF_A_START);
    Some(Starts { number: (found.starts as u64).min(fit), units })
}

struct Blocks {
    /// One search unit; 0 if nothing is searched.
    search_s: f64,
    /// Including its share of A/A checks.
    unit_s: f64,
}

impl Blocks {
    fn of(plan: &Plan, find_worst: bool, window_s: f64) -> Self {
        let points = plan.points.len();
        let searched = find_worst && points > 1;
        let reported = if searched { 1 } else { points };
        let blocks = |points: usize| (points * plan.bindings.len()) as f64;
        Self {
            search_s: if searched { 4.0 * window_s * blocks(points) } else { 0.0 },
            unit_s: 4.0 * window_s * (blocks(reported) + 1.0 / PLACEBO_EVERY as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from old stores: baselines are found by this text.
    #[test]
    fn wishes_are_written_as_in_stores_of_before() {
        let recorded = "Wishes { effort: Normal, budget_s: None, window_s: None, guard_s: None, \
                        units: None, half_width: None, margin: None, seed: 1 }";
        assert_eq!(Wishes::of(Effort::Normal, 1).written(), recorded);
        let all = Wishes {
            effort: Effort::Quick,
            budget_s: Some(1.0),
            window_s: Some(0.1),
            guard_s: Some(0.02),
            units: Some(8),
            half_width: Some(1e-7),
            margin: Some(0.03),
            seed: u64::MAX,
            starts: StartsAsked::One,
        };
        let recorded = "Wishes { effort: Quick, budget_s: Some(1.0), window_s: Some(0.1), \
                        guard_s: Some(0.02), units: Some(8), half_width: Some(1e-7), \
                        margin: Some(0.03), seed: 18446744073709551615 }";
        assert_eq!(all.written(), recorded);
        let several = Wishes { starts: StartsAsked::Number(8), ..Wishes::of(Effort::Normal, 1) };
        assert!(several.written().ends_with("margin: None, seed: 1, starts: 8 }"));
        let usual = Wishes { starts: StartsAsked::Usual, ..several };
        assert_eq!(usual.written(), Wishes::of(Effort::Normal, 1).written());
    }

    #[test]
    fn a_start_is_as_long_as_beginning_it_takes_and_the_budget_holds() {
        let of = |effort, budget_s, start_s, unit_s| {
            usual(effort, budget_s, start_s, unit_s).map(|it| (it.number, it.units))
        };
        assert_eq!(of(Effort::Normal, 240.0, 6.0, 2.0), Some((20, 3)));
        assert_eq!(of(Effort::Normal, 120.0, 6.0, 2.0), Some((10, 3)));
        assert_eq!(of(Effort::Normal, 240.0, 1.0, 2.0), Some((20, 5)));
        assert_eq!(of(Effort::Quick, 40.0, 1.0, 2.0), Some((6, 2)));
        assert_eq!(of(Effort::Quick, 40.0, 1.0, 4.0), None, "six starts do not fit");
        assert_eq!(of(Effort::Quick, 40.0, 3.5, 0.1), None, "starting is more than half of it");
        for (budget_s, start_s, unit_s) in [(60.0, 5.0, 1.0), (240.0, 3.0, 4.7), (1200.0, 0.1, 9.0)]
        {
            let Some(of) = usual(Effort::Full, budget_s, start_s, unit_s) else { continue };
            let takes_s = of.number as f64 * (start_s + of.units as f64 * unit_s);
            assert!(takes_s <= budget_s + 1e-9, "{of:?} take {takes_s} of {budget_s} s");
        }
    }
}
