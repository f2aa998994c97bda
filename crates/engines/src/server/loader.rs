//! Loads data into a server over several connections.
//!
//! Method: connection k of n packs batches k, k + n, k + 2n, … and sends each when it is ready, so
//! that rows arrive nearly in key order. Indexes and statistics follow.

use std::sync::atomic::{AtomicU64, Ordering};

use hopcost_core::{Dataset, TargetError};

use super::super::{Heard, Wanted, say, with_commas};
use super::address::Address;
use super::parallel_load::{self, BatchShare, ParallelLoad, at_length, of_table};
use super::tables::Tables;
use super::wire::{Wire, WireError};

pub struct Loader<'a, D> {
    pub dialect: &'a D,
    pub address: &'a Address,
    pub enters: bool,
    pub dataset: &'a dyn Dataset,
}

impl<D: Tables> Loader<'_, D> {
    pub fn load(&self, wanted: &[Wanted], heard: &mut Heard<'_>) -> Result<(), TargetError> {
        let mut wire = self.connect()?;
        let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
        let mut before = 0;
        for wanted in wanted {
            let table = &wanted.table;
            let of_this = |error| of_table(table.name, error);
            self.dialect.make(&mut wire, table).map_err(TargetError::from).map_err(of_this)?;
            let what = format!("{}: {} rows", table.name, with_commas(table.rows));
            let filled = self.fill(wanted, &mut |done| {
                let share = (before + done) as f64 / all.max(1) as f64;
                say(heard, &what, share)
            });
            filled.map_err(of_this)?;
            before += table.rows;
        }
        for Wanted { table, .. } in wanted {
            let indexes = D::index(table).into_iter().map(|statement| ("an index", statement));
            let settled = D::settle(table).map(|statement| ("statistics", statement));
            for (what, statement) in indexes.chain(settled) {
                let what = format!("{}: {what}", table.name);
                let line = wire.channel().line();
                at_length(line, &mut || say(heard, &what, 1.0), || wire.query(&statement))
                    .map_err(|error| of_table(table.name, error))?;
            }
        }
        Ok(())
    }

    fn connect(&self) -> Result<D::Wire, WireError> {
        let mut wire = D::Wire::connect(self.address)?;
        if self.enters {
            self.dialect.enter(&mut wire)?;
        }
        Ok(wire)
    }

    pub fn fill(
        &self,
        wanted: &Wanted,
        tell: &mut dyn FnMut(u64) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let batches = wanted.table.rows.div_ceil(D::BATCH_ROWS);
        parallel_load::split_batches(batches, tell, |share, done, load| {
            self.send(wanted, share, done, load)
        })
    }

    fn send(
        &self,
        wanted: &Wanted,
        batches: BatchShare,
        done: &AtomicU64,
        load: &ParallelLoad,
    ) -> Result<(), WireError> {
        let table = &wanted.table;
        let wire = self.connect()?;
        load.on(wire.channel().line());
        let mut bulk = self.dialect.bulk(wire, table)?;
        for batch in batches {
            let rows = batch * D::BATCH_ROWS..table.rows.min((batch + 1) * D::BATCH_ROWS);
            let count = rows.end - rows.start;
            bulk.pack(self.dataset, wanted.index, rows);
            if load.is_over() {
                // The server discards a load without `end`.
                return Ok(());
            }
            bulk.send()?;
            done.fetch_add(count, Ordering::Relaxed);
        }
        bulk.end()
    }
}
