//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n packs batches k, k + n, k + 2n, … as binary COPY and sends each as it is
//! made, so that they reach the table nearly in the order of its key. Indexes follow, then `VACUUM
//! (FREEZE, ANALYZE)`: nothing about a row is left to be found out while it is measured.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use hopcost_core::{Dataset, TargetError};
use hopcost_sys::readiness::Poller;

use super::super::remote::address::Address;
use super::super::remote::errand::Errand;
use super::super::{Heard, Wanted, say, with_commas};
use super::schema::{self, Packed};
use super::session::failed;
use super::wire::{Wire, WireError};

/// Rows of one message: some 100 KB.
const BATCH_ROWS: u64 = 512;
/// More connections wait for each other at the table's end.
const MOST_CONNECTIONS: usize = 4;

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
        errand.on(wire.line());
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
    errand.on(wire.line());
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
