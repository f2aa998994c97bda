//! What the server's processes wait for, looked at ten times a second from a connection of our own.
//!
//! Limits: it is a sample: what takes less than a tenth of a second is seen by chance. The connection
//! that looks takes some 0.2 % of a CPU, in all arms alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::address::Address;
use super::wire::{Wire, WireError};

const BETWEEN: Duration = Duration::from_millis(100);

const WAITING_FOR: &str = "\
    SELECT coalesce(wait_event_type || ':' || wait_event, 'none'), count(*) FROM pg_stat_activity \
    WHERE state = 'active' AND pid <> pg_backend_pid() \
    AND backend_type IN ('client backend', 'parallel worker') GROUP BY 1";

/// Looks until it is dropped.
pub struct Waits {
    seen: Arc<Mutex<BTreeMap<String, u64>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waits {
    /// Begins to look.
    pub fn watch(address: &Address) -> Result<Self, WireError> {
        let mut wire = Wire::connect(address)?;
        let (seen, over) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let (into, until) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                // A server that is gone is told of by those who ask it for more.
                let Ok(rows) = wire.query(WAITING_FOR) else { return };
                add(&into, rows);
                std::thread::sleep(BETWEEN);
            }
        });
        Ok(Self { seen, over, thread: Some(thread) })
    }

    /// How often each kind of waiting was seen, since the beginning; `none` is work.
    pub fn seen(&self) -> BTreeMap<String, u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn add(into: &Mutex<BTreeMap<String, u64>>, rows: Vec<Vec<Option<String>>>) {
    let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
    for row in rows {
        let [Some(event), Some(count)] = row.as_slice() else { continue };
        *into.entry(event.clone()).or_default() += count.parse().unwrap_or(0);
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
