//! Servers that are spoken to from other threads, while this one says how far they are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use hopcost_core::TargetError;

use super::stream::Line;

const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// A server that is spoken to from another thread: whether that has ended, and how it is broken off.
#[derive(Default)]
pub struct Errand {
    ended: AtomicUsize,
    is_over: AtomicBool,
    lines: Mutex<Vec<Line>>,
}

impl Errand {
    /// Looks after so many threads, until they have ended or nobody wants it any more.
    pub fn watch(
        &self,
        threads: usize,
        tell: &mut dyn FnMut() -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        while self.ended.load(Ordering::Acquire) < threads {
            thread::park_timeout(BETWEEN_WORDS);
            let told = tell();
            if told.is_err() {
                self.is_over.store(true, Ordering::Relaxed);
                // What is not ended is not there.
                let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                for line in lines.iter() {
                    line.hang_up();
                }
                return told;
            }
        }
        Ok(())
    }

    /// Does nobody want it any more?
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Goes over this connection, too.
    pub fn on(&self, line: Line) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Does one thread's work. Where it does not end well, the others need not go on.
    pub fn run<T, E>(&self, waiting: &Thread, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _ended = Ended(self, waiting);
        let outcome = work();
        self.is_over.fetch_or(outcome.is_err(), Ordering::Relaxed);
        outcome
    }
}

/// Tells that a thread has ended, even where it died.
struct Ended<'a>(&'a Errand, &'a Thread);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
        self.1.unpark();
    }
}
