//! What those who work in a server wait for: looked at ten times a second from a connection of our own.
//!
//! Limits: it is a sample: what takes less than a tenth of a second is seen by chance. The connection
//! that looks takes some 0.2 % of a CPU, in all arms alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hopcost_core::{Reading, gauge};

const BETWEEN: Duration = Duration::from_millis(100);

/// How often each kind of waiting was seen since the beginning.
type Seen = BTreeMap<String, u64>;

/// Looks until it is dropped.
pub struct Waits {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waits {
    /// Begins to look: `ask` says what each of those at work waits for, or that nobody answers any more.
    pub fn watch(mut ask: impl FnMut() -> Option<Vec<String>> + Send + 'static) -> Self {
        let (seen, over) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let (into, until) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                // A server that is gone is told of by those who ask it for more.
                let Some(events) = ask() else { return };
                add(&into, events);
                std::thread::sleep(BETWEEN);
            }
        });
        Self { seen, over, thread: Some(thread) }
    }

    /// What was seen since the beginning, by these together, of each kind of waiting (`none` is work).
    pub fn readings<'a>(all: impl Iterator<Item = &'a Self>) -> Vec<Reading> {
        let mut sum = Seen::new();
        for waits in all {
            let seen = waits.seen.lock().unwrap_or_else(PoisonError::into_inner);
            for (what, count) in seen.iter() {
                *sum.entry(what.clone()).or_default() += count;
            }
        }
        let reading = |(of, count): (String, u64)| Reading {
            gauge: gauge::WAIT_SAMPLES,
            of,
            value: count as f64,
        };
        sum.into_iter().map(reading).collect()
    }
}

fn add(into: &Mutex<Seen>, events: Vec<String>) {
    let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
    for event in events {
        *into.entry(event).or_default() += 1;
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
