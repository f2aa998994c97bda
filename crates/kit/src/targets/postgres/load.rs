//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n packs batches k, k + n, k + 2n, … as binary COPY and sends each as it is
//! made, so that they reach the table nearly in the order of its key. Indexes follow, then `VACUUM
//! (FREEZE, ANALYZE)`: nothing about a row is left to be found out while it is measured.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use hopcost_core::{Dataset, TargetError};

use super::super::{Heard, Wanted, say, with_commas};
use super::address::Address;
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

impl Loader<'_> {
    /// Makes the tables, fills them, indexes them.
    pub fn load(&self, wanted: &[Wanted], heard: &mut Heard<'_>) -> Result<(), TargetError> {
        let mut wire = self.connect().map_err(failed)?;
        let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
        let mut before = 0;
        for wanted in wanted {
            let table = &wanted.table;
            wire.query(&schema::create(table)).map_err(failed)?;
            let what = format!("{}: {} rows", table.name, with_commas(table.rows));
            self.fill(wanted, &mut |done| {
                let share = (before + done) as f64 / all.max(1) as f64;
                say(heard, &what, share)
            })?;
            before += table.rows;
        }
        for wanted in wanted {
            let name = wanted.table.name;
            for statement in schema::index(&wanted.table) {
                say(heard, &format!("{name}: an index"), 1.0)?;
                wire.query(&statement).map_err(failed)?;
            }
            say(heard, &format!("{name}: statistics"), 1.0)?;
            wire.query(&format!("VACUUM (FREEZE, ANALYZE) \"{name}\"")).map_err(failed)?;
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
        let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let part = |first: usize| {
                let (done, over) = (&done, &over);
                let batches = (first as u64..batches).step_by(connections);
                scope.spawn(move || self.send(wanted, batches, done, over))
            };
            let parts: Vec<_> = (0..connections).map(part).collect();
            let mut told = Ok(());
            while told.is_ok() && !parts.iter().all(thread::ScopedJoinHandle::is_finished) {
                thread::sleep(BETWEEN_WORDS);
                told = tell(done.load(Ordering::Relaxed));
            }
            over.store(told.is_err(), Ordering::Relaxed);
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
        over: &AtomicBool,
    ) -> Result<(), WireError> {
        let table = &wanted.table;
        let mut wire = self.connect()?;
        wire.copy_in(&schema::copy(table))?;
        let mut packed = Packed::of(table.columns);
        packed.begin();
        for batch in batches {
            let rows = batch * BATCH_ROWS..table.rows.min((batch + 1) * BATCH_ROWS);
            let count = rows.end - rows.start;
            packed.rows(self.dataset, wanted.index, rows);
            wire.send(&packed.bytes)?;
            packed.bytes.clear();
            done.fetch_add(count, Ordering::Relaxed);
            if over.load(Ordering::Relaxed) {
                // What is not ended is not there.
                return Ok(());
            }
        }
        packed.end();
        wire.send(&packed.bytes)?;
        wire.copy_end()
    }
}
