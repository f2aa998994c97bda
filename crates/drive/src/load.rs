//! Runs a load without a comparison.
//!
//! Method: windows of a second, so that it can be stopped, after a short warm-up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hopcost_core::{Histogram, TargetError};
use hopcost_sys::clock;

use crate::pool::{Ask, Crew, Muster, Patience, Work};

#[derive(Clone, Debug, Default)]
pub struct Driven {
    pub calls: u64,
    pub warm_up_calls: u64,
    pub errors: u64,
    pub first_error: Option<String>,
    pub calls_per_s: f64,
    pub seconds: f64,
    pub latency: Histogram,
    /// Of this process: a client that uses much of it measures itself.
    pub own_cpu: Duration,
    pub interrupted: bool,
}

const WINDOW: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_millis(200);

pub fn drive(
    work: Work<'_>,
    muster: &Muster,
    length: Duration,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&Driven),
) -> Result<Driven, TargetError> {
    thread::scope(|scope| {
        let crew = Crew::start(scope, work, muster)?;
        let mut driven = Driven::default();
        let mut warm_up = Driven::default();
        let window = |length: Duration, driven: &mut Driven| {
            let mut patience = Patience::until(stop, work.instance);
            let lost = window(&crew, length, muster.streams, &mut patience, driven)?;
            // Closed by `hang_up`, and not lost.
            match lost.filter(|_| !stop.load(Ordering::Relaxed)) {
                Some(lost) => Err(TargetError::Failed(lost)),
                None => Ok(()),
            }
        };
        window(WARM_UP.min(length / 5), &mut warm_up)?;
        driven.warm_up_calls = warm_up.calls;
        let (begun, used) = (clock::now(), clock::process_cpu());
        while let Some(left) = length.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if stop.load(Ordering::Relaxed) {
                driven.interrupted = true;
                break;
            }
            window(left.min(WINDOW), &mut driven)?;
            told(&driven);
        }
        driven.own_cpu = clock::process_cpu().saturating_sub(used);
        Ok(driven)
    })
}

/// Returns why the connection was lost, if it was.
fn window(
    crew: &Crew,
    length: Duration,
    streams: u32,
    patience: &mut Patience<'_>,
    driven: &mut Driven,
) -> Result<Option<String>, TargetError> {
    let guard = Duration::ZERO;
    let ask = Ask { guard, length, calls_per_stream: 0, streams, keep_calls: false };
    let mut tallies = crew.work(&ask, patience)?;
    if let Some(lost) = tallies.iter_mut().find_map(|tally| tally.lost.take()) {
        return Ok(Some(lost));
    }
    let seconds = tallies.iter().map(|tally| tally.seconds).fold(0.0, f64::max);
    let working = tallies.iter().filter(|tally| tally.calls > 0);
    let rate: f64 = working.map(|tally| tally.rate).sum();
    let all_s = driven.seconds + seconds;
    if all_s > 0.0 {
        let calls = driven.calls_per_s * driven.seconds + rate * seconds;
        driven.calls_per_s = calls / all_s;
    }
    driven.seconds = all_s;
    for tally in tallies {
        driven.calls += tally.calls;
        driven.errors += tally.errors;
        driven.first_error = driven.first_error.take().or(tally.first_error);
        driven.latency.add(&tally.latency);
    }
    Ok(None)
}
