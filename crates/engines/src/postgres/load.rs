//! Data on its way into a server: generated and handed over by several connections at once.
//!
//! Method: connection k of n packs batches k, k + n, k + 2n, … as binary COPY and sends each as it is
//! made, so that they reach the table nearly in the order of its key. Indexes follow, then `VACUUM
//! (FREEZE, ANALYZE)`: nothing about a row is left to be found out while it is measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hopcost_core::{Dataset, TargetError};
use hopcost_sys::readiness::Poller;

use super::super::remote::address::Address;
use super::super::remote::errand::{self, Errand, Share, at_length, of_table};
use super::super::remote::failed;
use super::super::{Heard, Wanted, say, with_commas};
use super::schema::{self, Packed};
use super::wire::{Wire, WireError};

/// Rows of one message: some 100 KB.
const BATCH_ROWS: u64 = 512;

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
                at_length(wire.line(), &mut || say(heard, &what, 1.0), || wire.query(&statement))
                    .map_err(|error| of_table(name, error))?;
            }
            let (what, statement) =
                (format!("{name}: statistics"), format!("VACUUM (FREEZE, ANALYZE) \"{name}\""));
            at_length(wire.line(), &mut || say(heard, &what, 1.0), || wire.query(&statement))
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
