//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n makes batches k, k + n, k + 2n, … as lines of text and hands them to one `LOAD
//! DATA LOCAL` each, so that they reach the table nearly in the order of its key. Indexes follow, then
//! `ANALYZE TABLE`.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hopcost_core::{Dataset, TargetError};

use super::super::remote::address::Address;
use super::super::remote::errand::Errand;
use super::super::{Heard, Wanted, say, with_commas};
use super::schema::{self, Lines};
use super::session::failed;
use super::wire::{Wire, WireError};

/// Rows of one statement: some megabytes.
const BATCH_ROWS: u64 = 20_000;
const MOST_CONNECTIONS: usize = 4;

/// What is loaded, and where to.
pub struct Loader<'a> {
    pub address: &'a Address,
    pub dataset: &'a dyn Dataset,
}

impl Loader<'_> {
    /// Makes the tables, fills them, indexes them.
    pub fn load(&self, wanted: &[Wanted], heard: &mut Heard<'_>) -> Result<(), TargetError> {
        let mut wire = Wire::connect(self.address).map_err(failed)?;
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
        for Wanted { table, .. } in wanted {
            let name = table.name;
            let analyze = format!("ANALYZE TABLE `{name}`");
            for (what, statement) in schema::index(table)
                .map(|index| ("an index", index))
                .into_iter()
                .chain([("statistics", analyze)])
            {
                let what = format!("{name}: {what}");
                at_length(&mut wire, &statement, &mut || say(heard, &what, 1.0))
                    .map_err(|error| of_table(name, error))?;
            }
        }
        Ok(())
    }

    /// Fills a table, telling now and then how many rows are on their way.
    fn fill(
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
        let mut wire = Wire::connect(self.address)?;
        errand.on(wire.line());
        let statement = schema::load_into(table, table.name);
        let (mut lines, mut packets) = (Lines::default(), Vec::new());
        for batch in batches {
            let rows = batch * BATCH_ROWS..table.rows.min((batch + 1) * BATCH_ROWS);
            let count = rows.end - rows.start;
            lines.bytes.clear();
            rows.for_each(|row| lines.row(self.dataset, wanted.index, row));
            if errand.is_over() {
                return Ok(());
            }
            let number = wire.load(&statement)?;
            packets.clear();
            let next = lines.put(&mut packets, number);
            wire.send(&packets)?;
            wire.load_end(next)?;
            done.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
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
