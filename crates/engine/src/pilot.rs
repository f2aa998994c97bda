//! How long everything is to take: from what was wished for, and from a short run of the baseline.
//!
//! Method: the pilot runs the baseline for a while and cuts what it did into windows of each length
//! (`stats::choose_window`); before that it switches between the arms a few times to see how long a
//! switch disturbs what follows (`stats::samples_to_drop`). A quick run does without: its windows are
//! 0.2 s, after a guard of 50 ms, or shorter where a glance shows that a hypervisor takes its CPUs away more
//! often than that. Whole queries do without too: their windows are groups of calls.

use std::time::Duration;

use hopcost_core::{Effort, TargetError};
use hopcost_stats::{Window, blocks_needed, choose_window, samples_to_drop, window_between};
use hopcost_sys::quiet::stolen_ticks_of;

use crate::comparing::Staff;
use crate::driver::{Ask, RawCall};
use crate::event::{Event, Listener};
use crate::plan::Plan;
use crate::schedule::Pace;

/// What the user wishes, where it differs from what the effort means.
#[derive(Clone, Debug, PartialEq)]
pub struct Wishes {
    /// How much time and detail.
    pub effort: Effort,
    /// Seconds for everything.
    pub budget_s: Option<f64>,
    /// Seconds of a window.
    pub window_s: Option<f64>,
    /// Seconds at its begin that are not counted.
    pub guard_s: Option<f64>,
    /// Fresh units.
    pub units: Option<u64>,
    /// Half of the interval that is narrow enough.
    pub half_width: Option<f64>,
    /// A cost within this is no difference.
    pub margin: Option<f64>,
    /// The seed of every coin.
    pub seed: u64,
}

impl Wishes {
    /// Nothing beyond what an effort means.
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
        }
    }

    /// As stores keep them within a run's identity, for ever: a baseline is found again by these letters. They
    /// are those of the first version, and a new wish is only written where there is one.
    pub fn written(&self) -> String {
        let Self { effort, budget_s, window_s, guard_s, units, half_width, margin, seed } = self;
        let effort = match effort {
            Effort::Quick => "Quick",
            Effort::Normal => "Normal",
            Effort::Full => "Full",
        };
        format!(
            "Wishes {{ effort: {effort}, budget_s: {budget_s:?}, window_s: {window_s:?}, \
             guard_s: {guard_s:?}, units: {units:?}, half_width: {half_width:?}, margin: {margin:?}, \
             seed: {seed} }}"
        )
    }
}

/// What an effort means.
struct Means {
    budget_s: f64,
    pilot_s: f64,
    longest_window_s: f64,
    half_width: f64,
    search_units: u64,
    long_s: Option<f64>,
}

impl Means {
    const fn of(effort: Effort) -> Self {
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

/// Seconds that a run may take.
pub fn budget_s(wishes: &Wishes) -> f64 {
    wishes.budget_s.unwrap_or(Means::of(wishes.effort).budget_s)
}

/// Seconds of measuring below which a quick run decides nothing: its search, and eight units.
pub fn least_s(plan: &Plan, find_worst: bool) -> f64 {
    let window_s = QUICK_WINDOW_S + QUICK_GUARD_S + AROUND_S;
    let blocks = Blocks::of(plan, find_worst, window_s);
    let search_units = Means::of(Effort::Quick).search_units as f64;
    search_units * blocks.search_s + LEAST_UNITS as f64 * blocks.unit_s
}

const QUICK_WINDOW_S: f64 = 0.2;
const QUICK_GUARD_S: f64 = 0.05;
const SHORTEST_WINDOW_S: f64 = 0.1;
/// Where the hypervisor leaves no peace for longer.
const RESTLESS_WINDOW_S: f64 = 0.04;
/// Seconds that a quick run looks at what the hypervisor takes.
const GLANCE_S: f64 = 0.5;
const LONGEST_GUARD_S: f64 = 0.5;
const MARGIN: f64 = 0.03;
/// A standard deviation takes more calls than a mean.
const LONGER_FOR_SPREAD: f64 = 3.0;
/// The looks need as many.
const LEAST_UNITS: u64 = 8;
const PLACEBO_EVERY: u64 = 4;
/// The pilot's throughput is looked at in pieces so long.
const PIECE_S: f64 = 0.05;
/// Switches that the guard is averaged over, and seconds after each.
const SWITCHES: usize = 6;
const AFTER_SWITCH_S: f64 = 0.4;
/// Seconds of a window that go by around it: threads wake, placement is read back.
const AROUND_S: f64 = 0.01;

/// What a pilot found.
#[derive(Clone, Copy, Debug)]
struct Found {
    window_s: f64,
    guard_s: f64,
    deviation: Option<f64>,
}

/// The pace of a run. The second is what is said up front: that the budget will not do.
pub fn pace(
    staff: &mut Staff<'_>,
    plan: &Plan,
    find_worst: bool,
    wishes: &Wishes,
    listener: &mut dyn Listener,
) -> Result<(Pace, Option<String>), TargetError> {
    let means = Means::of(wishes.effort);
    let found = if wishes.window_s.is_some() {
        Found { window_s: QUICK_WINDOW_S, guard_s: QUICK_GUARD_S, deviation: None }
    } else if staff.is_sliced() && means.pilot_s <= 0.0 {
        quick(staff, plan)?
    } else if staff.is_sliced() {
        pilot(staff, plan, &means, listener)?
    } else {
        whole_calls(staff, plan, listener)?
    };
    let longer = if staff.asks_for_spread() { LONGER_FOR_SPREAD } else { 1.0 };
    let window_s = wishes.window_s.unwrap_or(longer * found.window_s);
    let guard_s = wishes.guard_s.unwrap_or(found.guard_s);
    let budget_s = budget_s(wishes);
    let half_width = wishes.half_width.unwrap_or(means.half_width);
    let blocks = Blocks::of(plan, find_worst, window_s + guard_s + AROUND_S);
    let search_s = blocks.search_s * means.search_units as f64;
    let long_s = means.long_s.filter(|_| wishes.units.is_none() && staff.is_sliced());
    let left_s = budget_s - search_s - long_s.map_or(0.0, |long_s| 4.0 * (long_s + guard_s));
    let affordable = (left_s / blocks.unit_s) as u64;
    let most_units = wishes.units.unwrap_or(affordable).max(LEAST_UNITS);
    // A law takes the looks at all of its numbers of streams, and what is lost to disturbances is made up for.
    let limit_s = if plan.is_of_law() && wishes.budget_s.is_none() {
        budget_s.max(search_s + 2.0 * LEAST_UNITS as f64 * blocks.unit_s)
    } else {
        budget_s
    };
    let pace = Pace {
        window_s,
        guard_s,
        search_units: if blocks.search_s > 0.0 { means.search_units } else { 0 },
        most_units,
        placebo_every: if plan.is_score() { u64::MAX } else { PLACEBO_EVERY },
        long_s,
        // A number of units that was asked for is measured, however long it takes.
        budget_s: wishes.units.is_none().then_some(limit_s),
        half_width,
        margin: wishes.margin.unwrap_or(MARGIN),
        seed: wishes.seed,
    };
    let warning = found.deviation.and_then(|deviation| {
        let of_unit = deviation / (plan.bindings.len() as f64).sqrt();
        let needed = blocks_needed(of_unit, half_width) as u64;
        (needed > most_units && wishes.units.is_none()).then(|| {
            let minutes = (search_s + needed as f64 * blocks.unit_s) / 60.0;
            format!(
                "the pilot was so noisy that ±{:.1} % takes some {needed} units of blocks, more than \
                 the {most_units} that the budget holds: --budget {:.0}m would do",
                100.0 * half_width,
                minutes.ceil()
            )
        })
    });
    Ok((pace, warning))
}

/// What blocks take.
struct Blocks {
    /// Seconds of one unit of the search; 0 where nothing is searched.
    search_s: f64,
    /// Seconds of one fresh unit, with its share of placebo blocks.
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

/// Whole queries: a window is two calls of each stream, after one that is not counted. How long that
/// takes has to be seen once.
fn whole_calls(
    staff: &mut Staff<'_>,
    plan: &Plan,
    listener: &mut dyn Listener,
) -> Result<Found, TargetError> {
    listener.hear(Event::Pilot { seconds: 0.0 });
    let calls = staff.pilot(0, at_length(plan, 0.0))?;
    let window_s = calls.iter().map(|call| call.done_ns).max().unwrap_or(0) as f64 / 1e9;
    let window_s = window_s.max(SHORTEST_WINDOW_S);
    Ok(Found { window_s, guard_s: QUICK_GUARD_S, deviation: None })
}

/// A quick run has no time for a pilot: its windows are as long as the hypervisor leaves it in peace.
fn quick(staff: &mut Staff<'_>, plan: &Plan) -> Result<Found, TargetError> {
    let (_, stolen) = watched(staff, plan, GLANCE_S)?;
    let window_s = window_between(stolen, QUICK_GUARD_S + AROUND_S);
    let window_s = window_s.clamp(RESTLESS_WINDOW_S, QUICK_WINDOW_S);
    Ok(Found { window_s, guard_s: QUICK_GUARD_S, deviation: None })
}

/// The baseline's calls of so many seconds, and how often in each of them the hypervisor took time. More than
/// one of its ticks in a row spoil no more than one does: this is the most that it can have been.
fn watched(
    staff: &mut Staff<'_>,
    plan: &Plan,
    seconds: f64,
) -> Result<(Vec<RawCall>, f64), TargetError> {
    let cpus = plan.placements[0][0].callers(plan.most_streams());
    let before = stolen_ticks_of(&cpus);
    let calls = staff.pilot(0, at_length(plan, seconds))?;
    let ticks = stolen_ticks_of(&cpus).saturating_sub(before);
    Ok((calls, ticks as f64 / seconds))
}

fn at_length(plan: &Plan, seconds: f64) -> Ask {
    Ask {
        guard: Duration::ZERO,
        length: Duration::from_secs_f64(seconds),
        calls_per_stream: 2,
        streams: plan.most_streams(),
        keep_calls: true,
    }
}

/// Looks at the baseline, and at what follows a switch.
fn pilot(
    staff: &mut Staff<'_>,
    plan: &Plan,
    means: &Means,
    listener: &mut dyn Listener,
) -> Result<Found, TargetError> {
    listener.hear(Event::Pilot { seconds: means.pilot_s + SWITCHES as f64 * AFTER_SWITCH_S });
    let mut after_switches = Vec::new();
    for switch in 0..SWITCHES {
        let calls = staff.pilot((switch + 1) % 2, at_length(plan, AFTER_SWITCH_S))?;
        after_switches.push(calls.iter().map(rate_of).collect::<Vec<f64>>());
    }
    let (calls, stolen) = watched(staff, plan, means.pilot_s)?;
    let mean_s = calls.iter().map(service_s).sum::<f64>() / calls.len() as f64;
    let dropped = samples_to_drop(&after_switches).unwrap_or(0) as f64;
    let guard_s = (dropped * mean_s).clamp(QUICK_GUARD_S, LONGEST_GUARD_S);
    let piece_s = PIECE_S.max(2.0 * mean_s);
    let rates = rates(&calls, piece_s);
    let lengths = [SHORTEST_WINDOW_S, means.longest_window_s];
    let chosen = choose_window(&rates, piece_s, guard_s, lengths, stolen);
    Ok(match chosen {
        Some(Window { seconds, deviation }) => {
            Found { window_s: seconds, guard_s, deviation: Some(deviation) }
        }
        None => Found { window_s: means.longest_window_s, guard_s, deviation: None },
    })
}

fn service_s(call: &RawCall) -> f64 {
    call.done_ns.saturating_sub(call.sent_ns) as f64 / 1e9
}

fn rate_of(call: &RawCall) -> f64 {
    1.0 / service_s(call).max(1e-9)
}

/// The throughput piece by piece. A call that lies in several is shared out among them: whole calls
/// would make pieces of few calls jump.
fn rates(calls: &[RawCall], piece_s: f64) -> Vec<f64> {
    let end_s = calls.iter().map(|call| call.done_ns).max().unwrap_or(0) as f64 / 1e9;
    let mut work = vec![0.0; (end_s / piece_s) as usize];
    for call in calls {
        let (from, to) = (call.sent_ns as f64 / 1e9, call.done_ns as f64 / 1e9);
        let pieces = (from / piece_s) as usize..=(to / piece_s) as usize;
        for piece in pieces {
            let (begin, end) = (piece as f64 * piece_s, (piece + 1) as f64 * piece_s);
            let inside = to.min(end) - from.max(begin);
            if let Some(work) = work.get_mut(piece) {
                *work += inside.max(0.0) / (to - from).max(1e-9);
            }
        }
    }
    // The first piece holds the pilot's own begin.
    work.drain(..work.len().min(1));
    work.iter().map(|calls| calls / piece_s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from stores of before: whatever becomes of the names here, these are how baselines are found.
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
        };
        let recorded = "Wishes { effort: Quick, budget_s: Some(1.0), window_s: Some(0.1), \
                        guard_s: Some(0.02), units: Some(8), half_width: Some(1e-7), \
                        margin: Some(0.03), seed: 18446744073709551615 }";
        assert_eq!(all.written(), recorded);
    }

    #[test]
    fn a_call_is_shared_out_among_the_pieces_it_lies_in() {
        let call = |from_ms: u64, to_ms: u64| RawCall {
            stream: 0,
            due_ns: from_ms * 1_000_000,
            sent_ns: from_ms * 1_000_000,
            done_ns: to_ms * 1_000_000,
        };
        // One call of 40 ms after the other: 25 a second, wherever the pieces of 50 ms are cut.
        let calls: Vec<RawCall> = (0..20).map(|n| call(n * 40, (n + 1) * 40)).collect();
        let rates = rates(&calls, 0.05);
        assert_eq!(rates.len(), 15);
        assert!(rates.iter().all(|rate| (rate - 25.0).abs() < 1e-6), "{rates:?}");
    }
}
