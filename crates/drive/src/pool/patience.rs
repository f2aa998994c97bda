//! How long the threads of a window are waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hopcost_core::Instance;
use hopcost_sys::clock;

pub enum Patience<'a> {
    Endless,
    /// Until some time after `stop` was set; then the database is hung up on.
    Until {
        stop: &'a AtomicBool,
        instance: &'a dyn Instance,
        /// When that was first seen, and whether the database has been hung up on.
        seen: Option<(Instant, bool)>,
    },
}

/// A window may end by itself in this time.
const GRACE: Duration = Duration::from_secs(3);
/// How often `stop` is looked at.
const LOOK: Duration = Duration::from_millis(250);

impl<'a> Patience<'a> {
    pub fn until(stop: &'a AtomicBool, instance: &'a dyn Instance) -> Self {
        Self::Until { stop, instance, seen: None }
    }

    /// None if the thread died.
    pub(super) fn wait<T>(&mut self, reports: &Receiver<T>) -> Option<T> {
        loop {
            match reports.recv_timeout(LOOK) {
                Ok(report) => return Some(report),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    fn look(&mut self) {
        let Self::Until { stop, instance, seen } = self else { return };
        if !stop.load(Ordering::Relaxed) {
            return;
        }
        let (since, is_hung_up) = seen.get_or_insert_with(|| (clock::now(), false));
        if !*is_hung_up && since.elapsed() >= GRACE {
            *is_hung_up = true;
            instance.hang_up();
        }
    }
}
