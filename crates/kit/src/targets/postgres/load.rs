//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n packs batches k, k + n, k + 2n, … as binary COPY and sends each as it is
//! made, so that they reach the table nearly in the order of its key. Indexes follow, then `VACUUM
//! (FREEZE, ANALYZE)`: nothing about a row is left to be found out while it is measured.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use hopcost_core::{Dataset, TargetError};
use hopcost_sys::readiness::Poller;

use super::super::{Heard, Wanted, say, with_commas};
use super::address::Address;
use super::lines::Line;
use super::schema::{self, Packed};
use super::session::failed;
use super::wire::{Wire, WireError};

/// Rows of one message: some 100 KB.
const BATCH_ROWS: u64 = 512;
/// More connections wait for each other at the table's end.
const MOST_CONNECTIONS: usize = 4;
const BETWEEN_WORDS: Duration = Duration::from_millis(50);

/// What is loaded, and where to.
pub struct Loader<'a> {
    pub address: &'a Address,
    /// What each connection says first, such as a search path.
    pub greeting: &'a str,
    pub dataset: &'a dyn Dataset,
}

/// A server that is spoken to from another thread: whether that has ended, and how it is broken off.
#[derive(Default)]
struct Errand {
    ended: AtomicUsize,
    is_over: AtomicBool,
    lines: Mutex<Vec<Line>>,
}

impl Errand {
    /// Looks after so many threads, until they have ended or nobody wants it any more.
    fn watch(
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

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn on(&self, wire: &Wire) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(wire.line());
    }

    /// Does one thread's work. Where it does not end well, the others need not go on.
    fn run<T, E>(&self, waiting: &Thread, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
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

impl Loader<'_> {
    /// Makes the tables, fills them, indexes them.
    pub fn load(&self, wanted: &[Wanted], heard: &mut Heard<'_>) -> Result<(), TargetError> {
        let mut wire = self.connect().map_err(failed)?;
        let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
        let mut before = 0;
        for wanted in wanted {
            let table = &wanted.table;
            let of_this = |error| of_table(table.name, error);
            wire.query(&schema::create(table)).map_err(failed).map_err(of_this)?;
            let what = format!("{}: {} rows", table.name, with_commas(table.rows));
            let filled = self.fill(wanted, &mut |done| {
                let share = (before + done) as f64 / all.max(1) as f64;
                say(heard, &what, share)
            });
            filled.map_err(of_this)?;
            before += table.rows;
        }
        for wanted in wanted {
            let name = wanted.table.name;
            for statement in schema::index(&wanted.table) {
                let what = format!("{name}: an index");
                at_length(&mut wire, &statement, &mut || say(heard, &what, 1.0))
                    .map_err(|error| of_table(name, error))?;
            }
            let (what, statement) =
                (format!("{name}: statistics"), format!("VACUUM (FREEZE, ANALYZE) \"{name}\""));
            at_length(&mut wire, &statement, &mut || say(heard, &what, 1.0))
                .map_err(|error| of_table(name, error))?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<Wire, WireError> {
        let mut wire = Wire::connect(self.address)?;
        if !self.greeting.is_empty() {
            wire.query(self.greeting)?;
        }
        Ok(wire)
    }

    /// Fills a table, telling now and then how many rows are on their way.
    pub fn fill(
        &self,
        wanted: &Wanted,
        tell: &mut dyn FnMut(u64) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let batches = wanted.table.rows.div_ceil(BATCH_ROWS);
        let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let connections = cpus.min(MOST_CONNECTIONS).min(batches as usize);
        let (done, errand, waiting) = (AtomicU64::new(0), Errand::default(), thread::current());
        thread::scope(|scope| {
            let part = |first: usize| {
                let (done, errand, waiting) = (&done, &errand, &waiting);
                let batches = (first as u64..batches).step_by(connections);
                scope
                    .spawn(move || errand.run(waiting, || self.send(wanted, batches, done, errand)))
            };
            let parts: Vec<_> = (0..connections).map(part).collect();
            let told = errand.watch(connections, &mut || tell(done.load(Ordering::Relaxed)));
            let died = || WireError::Lost("a loading thread died".to_owned());
            let mut ends =
                parts.into_iter().map(|part| part.join().unwrap_or_else(|_| Err(died())));
            let sent = ends.try_for_each(|end| end).map_err(failed);
            told.and(sent)
        })
    }

    /// Sends these batches, until it is over.
    fn send(
        &self,
        wanted: &Wanted,
        batches: impl Iterator<Item = u64>,
        done: &AtomicU64,
        errand: &Errand,
    ) -> Result<(), WireError> {
        let table = &wanted.table;
        let mut wire = self.connect()?;
        errand.on(&wire);
        wire.copy_in(&schema::copy(table))?;
        let mut poller = Poller::of([wire.socket()])?;
        let mut packed = Packed::of(table.columns);
        packed.begin();
        for batch in batches {
            let rows = batch * BATCH_ROWS..table.rows.min((batch + 1) * BATCH_ROWS);
            let count = rows.end - rows.start;
            packed.rows(self.dataset, wanted.index, rows);
            wire.send(&packed.bytes)?;
            packed.bytes.clear();
            done.fetch_add(count, Ordering::Relaxed);
            if errand.is_over() {
                // What is not ended is not there.
                return Ok(());
            }
            // A server that has no room for more would read and forget the rest.
            if poller.wait(Some(Duration::ZERO))?.count() > 0 {
                wire.copy_objection()?;
            }
        }
        packed.end();
        wire.send(&packed.bytes)?;
        wire.copy_end()
    }
}

/// Has a statement carried out that may take long, and breaks it off when nobody wants it any more.
fn at_length(
    wire: &mut Wire,
    sql: &str,
    tell: &mut dyn FnMut() -> Result<(), TargetError>,
) -> Result<(), TargetError> {
    tell()?;
    let (errand, waiting) = (Errand::default(), thread::current());
    errand.on(wire);
    thread::scope(|scope| {
        let asked = scope.spawn(|| errand.run(&waiting, || wire.query(sql)));
        let told = errand.watch(1, tell);
        let died = |_| Err(WireError::Lost("a loading thread died".to_owned()));
        told.and(asked.join().unwrap_or_else(died).map(|_| ()).map_err(failed))
    })
}

/// What went wrong with a table.
fn of_table(name: &str, error: TargetError) -> TargetError {
    match error {
        TargetError::Failed(words) => TargetError::Failed(format!("loading {name}: {words}")),
        other => other,
    }
}
