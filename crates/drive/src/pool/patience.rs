//! How long to wait for the threads of a window.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hopcost_core::Instance;
use hopcost_sys::clock;

pub enum Patience<'a> {
    Endless,
    /// Connections are closed some time after `stop` was set.
    Until {
        stop: &'a AtomicBool,
        instance: &'a dyn Instance,
        /// When `stop` was seen, and whether connections were closed.
        seen: Option<(Instant, bool)>,
    },
}

const GRACE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(250);

impl<'a> Patience<'a> {
    pub fn until(stop: &'a AtomicBool, instance: &'a dyn Instance) -> Self {
        Self::Until { stop, instance, seen: None }
    }

    /// `None` if the thread died.
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
