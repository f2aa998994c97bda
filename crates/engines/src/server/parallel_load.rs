//! Loads over several connections in threads, while this thread reports progress.

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

#[derive(Default)]
pub struct ParallelLoad {
    ended: AtomicUsize,
    is_over: AtomicBool,
    lines: Mutex<Vec<CloseHandle>>,
}

impl ParallelLoad {
    /// Waits for `threads` threads to end; aborts if `tell` fails.
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
                let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                for line in lines.iter() {
                    line.hang_up();
                }
                return told;
            }
        }
        Ok(())
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub fn on(&self, line: CloseHandle) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Runs one thread's part. A failure ends the others too.
    pub fn run<T, E>(&self, waiting: &Thread, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _ended = Ended(self, waiting);
        let outcome = work();
        self.is_over.fetch_or(outcome.is_err(), Ordering::Relaxed);
        outcome
    }
}

/// Counts a thread's end, even by a panic.
struct Ended<'a>(&'a ParallelLoad, &'a Thread);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
        self.1.unpark();
    }
}

/// With more, connections wait for each other at the table's end.
const MOST_CONNECTIONS: usize = 4;

/// The batches of connection k of n: k, k + n, k + 2n, …
pub type BatchShare = StepBy<Range<u64>>;

/// Sends batches over several connections, each of which adds the rows it sent; reports the sum now
/// and then.
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

/// Runs something long over a connection, which is closed if the user interrupts.
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

pub fn of_table(name: &str, error: TargetError) -> TargetError {
    match error {
        TargetError::Failed(words) => TargetError::Failed(format!("loading {name}: {words}")),
        other => other,
    }
}
