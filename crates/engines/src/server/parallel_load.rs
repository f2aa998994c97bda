//! Servers that are spoken to from other threads, while this one says how far they are.

use std::fmt::Display;
use std::iter::StepBy;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use hopcost_core::TargetError;

use super::failed;
use super::stream::CloseHandle;

const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// A server that is spoken to from another thread: whether that has ended, and how it is broken off.
#[derive(Default)]
pub struct ParallelLoad {
    ended: AtomicUsize,
    is_over: AtomicBool,
    lines: Mutex<Vec<CloseHandle>>,
}

impl ParallelLoad {
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
    pub fn on(&self, line: CloseHandle) {
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
struct Ended<'a>(&'a ParallelLoad, &'a Thread);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
        self.1.unpark();
    }
}

/// More connections wait for each other at a table's end.
const MOST_CONNECTIONS: usize = 4;

/// Batches of a table, dealt out: connection k of n has k, k + n, k + 2n, …
pub type BatchShare = StepBy<Range<u64>>;

/// Has batches sent by several connections at once, each of which adds up the rows that are on their way; tells of
/// these now and then.
pub fn split_batches<E: Display + Send>(
    batches: u64,
    tell: &mut dyn FnMut(u64) -> Result<(), TargetError>,
    send: impl Fn(BatchShare, &AtomicU64, &ParallelLoad) -> Result<(), E> + Sync,
) -> Result<(), TargetError> {
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let connections = cpus.min(MOST_CONNECTIONS).min(batches as usize);
    let (done, load, waiting) = (AtomicU64::new(0), ParallelLoad::default(), thread::current());
    thread::scope(|scope| {
        let part = |first: usize| {
            let (done, load, waiting, send) = (&done, &load, &waiting, &send);
            let share = (first as u64..batches).step_by(connections);
            scope.spawn(move || load.run(waiting, || send(share, done, load)))
        };
        let parts: Vec<_> = (0..connections).map(part).collect();
        let told = load.watch(connections, &mut || tell(done.load(Ordering::Relaxed)));
        let mut ends = parts.into_iter().map(|part| part.join().map_or_else(|_| died(), ended));
        let sent = ends.try_for_each(|end| end);
        told.and(sent)
    })
}

/// Has something done that may take long over a connection, which breaks off when nobody wants it any more.
pub fn at_length<T: Send, E: Display + Send>(
    line: CloseHandle,
    tell: &mut dyn FnMut() -> Result<(), TargetError>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<(), TargetError> {
    tell()?;
    let (load, waiting) = (ParallelLoad::default(), thread::current());
    load.on(line);
    thread::scope(|scope| {
        let asked = scope.spawn(|| load.run(&waiting, work));
        let told = load.watch(1, tell);
        told.and(asked.join().map_or_else(|_| died(), ended))
    })
}

fn ended<T, E: Display>(end: Result<T, E>) -> Result<(), TargetError> {
    end.map(|_| ()).map_err(failed)
}

fn died() -> Result<(), TargetError> {
    Err(TargetError::Failed("a loading thread died".to_owned()))
}

/// What went wrong with a table.
pub fn of_table(name: &str, error: TargetError) -> TargetError {
    match error {
        TargetError::Failed(words) => TargetError::Failed(format!("loading {name}: {words}")),
        other => other,
    }
}
