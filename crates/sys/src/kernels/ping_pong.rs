//! Two CPUs pass a cache line back and forth.
//!
//! No PAUSE: it turned a hand-over of 200 ns into 1,200 ns. The node of the line's page matters (a
//! remote hand-over went from 111 to 176 ns), and so does the line, which selects the last-level
//! cache slice of its directory entry. Callers choose both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    CompareAndSwap,
    /// Each side stores to its own line, with release, and polls the other's, with acquire.
    TwoLines,
}

#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The line handed over, or the first side's own line.
    pub first: &'a AtomicU64,
    pub second: &'a AtomicU64,
}

const PING: u64 = 1;
const PONG: u64 = 2;

pub fn begin(method: Method, table: Table<'_>, trips: u64) -> Duration {
    let ((), took) = clock::time(|| match method {
        Method::CompareAndSwap => {
            for _ in 0..trips {
                swap(table.first, PING, PONG);
            }
            // The last hand-over back, so that `trips` means whole trips.
            while table.first.load(Ordering::Acquire) != PING {}
        }
        Method::TwoLines => {
            for trip in 1..=trips {
                table.first.store(trip, Ordering::Release);
                while table.second.load(Ordering::Acquire) != trip {}
            }
        }
    });
    took
}

pub fn answer(method: Method, table: Table<'_>, trips: u64) {
    match method {
        Method::CompareAndSwap => {
            for _ in 0..trips {
                swap(table.first, PONG, PING);
            }
        }
        Method::TwoLines => {
            for trip in 1..=trips {
                while table.first.load(Ordering::Acquire) != trip {}
                table.second.store(trip, Ordering::Release);
            }
        }
    }
}

/// Resets the words for [`begin`] and [`answer`]; neither side may be running.
pub fn lay(method: Method, table: Table<'_>) {
    match method {
        Method::CompareAndSwap => table.first.store(PING, Ordering::SeqCst),
        Method::TwoLines => {
            table.first.store(0, Ordering::SeqCst);
            table.second.store(0, Ordering::SeqCst);
        }
    }
}

fn swap(word: &AtomicU64, from: u64, to: u64) {
    while word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_err() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_finish_after_the_same_number_of_trips() {
        for method in [Method::CompareAndSwap, Method::TwoLines] {
            let (first, second) = (AtomicU64::new(0), AtomicU64::new(0));
            let table = Table { first: &first, second: &second };
            lay(method, table);
            std::thread::scope(|scope| {
                scope.spawn(move || answer(method, table, 50));
                begin(method, table, 50);
            });
            let left = (first.into_inner(), second.into_inner());
            assert_eq!(left, if method == Method::TwoLines { (50, 50) } else { (PING, 0) });
        }
    }
}
