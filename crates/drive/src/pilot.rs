//! Window and guard lengths, from a short run of the baseline.
//!
//! Method: the pilot's calls are cut into windows of each length (`stats::choose_window`); switches
//! between variants give the guard (`stats::samples_to_drop`). Quick runs have no pilot. Windows of
//! whole queries are groups of calls.

use std::time::Duration;

use hopcost_core::TargetError;
use hopcost_method::pace::{AROUND_S, Calls, Found, Means, QUICK_GUARD_S, QUICK_WINDOW_S, Wishes};
use hopcost_method::plan::Plan;
use hopcost_method::schedule::Pace;
use hopcost_stats::{Window, choose_window, samples_to_drop, window_between};
use hopcost_sys::quiet::stolen_ticks_of;

use crate::comparison::Staff;
use crate::event::{Event, Listener};
use crate::pool::{Ask, RawCall};

const SHORTEST_WINDOW_S: f64 = 0.1;
/// The minimum under constant steal time.
const RESTLESS_WINDOW_S: f64 = 0.04;
const GLANCE_S: f64 = 0.5;
const LONGEST_GUARD_S: f64 = 0.5;
const PIECE_S: f64 = 0.05;
const SWITCHES: usize = 6;
const AFTER_SWITCH_S: f64 = 0.4;

pub fn pace(
    staff: &mut Staff<'_>,
    plan: &Plan,
    find_worst: bool,
    wishes: &Wishes,
    start_s: f64,
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
    let calls =
        Calls { are_sliced: staff.is_sliced(), ask_for_spread: staff.asks_for_spread(), start_s };
    Ok(Pace::of(found, plan, find_worst, wishes, calls))
}

/// Two calls per client after an uncounted one, whose duration is measured once.
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

/// Limits windows to the time between two steals.
fn quick(staff: &mut Staff<'_>, plan: &Plan) -> Result<Found, TargetError> {
    let (_, stolen) = watched(staff, plan, GLANCE_S)?;
    let window_s = window_between(stolen, QUICK_GUARD_S + AROUND_S);
    let window_s = window_s.clamp(RESTLESS_WINDOW_S, QUICK_WINDOW_S);
    Ok(Found { window_s, guard_s: QUICK_GUARD_S, deviation: None })
}

/// Steal events per second are an upper bound: successive ticks may be one event.
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

/// A call is divided among the pieces it overlaps: whole calls would make short pieces jump.
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
    work.drain(..work.len().min(1));
    work.iter().map(|calls| calls / piece_s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shared_out_among_the_pieces_it_lies_in() {
        let call = |from_ms: u64, to_ms: u64| RawCall {
            stream: 0,
            due_ns: from_ms * 1_000_000,
            sent_ns: from_ms * 1_000_000,
            done_ns: to_ms * 1_000_000,
        };
        let calls: Vec<RawCall> = (0..20).map(|n| call(n * 40, (n + 1) * 40)).collect();
        let rates = rates(&calls, 0.05);
        assert_eq!(rates.len(), 15);
        assert!(rates.iter().all(|rate| (rate - 25.0).abs() < 1e-6), "{rates:?}");
    }
}
