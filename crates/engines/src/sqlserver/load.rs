//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n makes batches k, k + n, k + 2n, … and hands each over as one `INSERT BULK`, so that
//! they reach the table nearly in the order of its key. Indexes follow, whose statistics come with them.

use std::sync::atomic::{AtomicU64, Ordering};

use hopcost_core::{Dataset, TargetError};

use super::super::server::address::Address;
use super::super::server::errand::{self, Errand, Share, at_length, of_table};
use super::super::server::failed;
use super::super::{Heard, Wanted, say, with_commas};
use super::schema::{self, Rows};
use super::tokens::ServerError;
use super::wire::{Wire, WireError};

/// Rows of one statement: some megabytes.
const BATCH_ROWS: u64 = 20_000;

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
            let make = make(&mut wire, table);
            make.map_err(failed).map_err(of_this)?;
            let what = format!("{}: {} rows", table.name, with_commas(table.rows));
            let filled = self.fill(wanted, &mut |done| {
                let share = (before + done) as f64 / all.max(1) as f64;
                say(heard, &what, share)
            });
            filled.map_err(of_this)?;
            before += table.rows;
        }
        for Wanted { table, .. } in
            wanted.iter().filter(|wanted| !schema::is_in_memory(&wanted.table))
        {
            for statement in schema::indexes(table) {
                let what = format!("{}: an index", table.name);
                at_length(wire.line(), &mut || say(heard, &what, 1.0), || wire.query(&statement))
                    .map_err(|error| of_table(table.name, error))?;
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
        errand::deal_out(batches, tell, |share, done, errand| {
            self.send(wanted, share, done, errand)
        })
    }

    /// Sends these batches, until it is over.
    fn send(
        &self,
        wanted: &Wanted,
        batches: Share,
        done: &AtomicU64,
        errand: &Errand,
    ) -> Result<(), WireError> {
        let table = &wanted.table;
        let mut wire = Wire::connect(self.address)?;
        errand.on(wire.line());
        let statement = schema::load_into(table, table.name);
        let mut message = Rows::new(table, wire.collation());
        for batch in batches {
            let rows = batch * BATCH_ROWS..table.rows.min((batch + 1) * BATCH_ROWS);
            let count = rows.end - rows.start;
            message.clear();
            rows.for_each(|row| message.row(self.dataset, wanted.index, row));
            if errand.is_over() {
                return Ok(());
            }
            wire.query(&statement)?;
            let taken = wire.load(message.end())?;
            if taken != count {
                let words = format!("of {count} rows the server took {taken}");
                return Err(WireError::Server(ServerError::of(words)));
            }
            done.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Makes a table, in memory with its procedure where it belongs there.
fn make(wire: &mut Wire, table: &hopcost_core::Table) -> Result<(), WireError> {
    if !schema::is_in_memory(table) {
        return wire.query(&schema::create(table, table.name)).map(drop);
    }
    let room = wire.script("memory_filegroup")?;
    for sql in [room.to_owned(), schema::create_in_memory(table), schema::create_procedure(table)] {
        wire.query(&sql)?;
    }
    Ok(())
}
