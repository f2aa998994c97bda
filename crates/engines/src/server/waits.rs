//! What a server's backends wait for, sampled ten times a second over a connection of its own.
//!
//! Limits: waits shorter than a tenth of a second are seen by chance. The sampling connection takes
//! some 0.2% of a CPU, in all variants alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hopcost_core::{Reading, gauge};

const BETWEEN: Duration = Duration::from_millis(100);

type Seen = BTreeMap<String, u64>;

pub struct Waits {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waits {
    /// `ask` returns what each active backend waits for, or `None` if the server is gone.
    pub fn watch(mut ask: impl FnMut() -> Option<Vec<String>> + Send + 'static) -> Self {
        let (seen, over) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let (into, until) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let Some(events) = ask() else { return };
                add(&into, events);
                std::thread::sleep(BETWEEN);
            }
        });
        Self { seen, over, thread: Some(thread) }
    }

    /// The samples since the start, summed over all of these, by wait (`none` is work).
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
