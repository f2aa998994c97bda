//! Tables that clients fill, and whether the inserted rows are there.
//!
//! Method: rows go one by one into a table that all connections share, or in bulk into a table of
//! the connection. Rows are counted after each window: in the shared table by the admin connection,
//! when no client is at work. A full table is emptied.

use std::sync::Arc;

use hopcost_core::{Filling, Setup, Table};

use super::super::ledger::Ledger;
use super::super::wanted;
use super::tables::Tables;
use super::wire::{Wire, WireError};

#[derive(Clone)]
pub struct Fillings {
    filling: Filling,
    table: Table,
    rows: Arc<[u8]>,
}

pub struct Filler {
    fillings: Fillings,
    name: String,
    ledger: Arc<Ledger>,
}

impl Fillings {
    /// `None` if the workload fills nothing.
    pub fn of<D: Tables>(dialect: &D, wire: &D::Wire, setup: &Setup<'_>) -> Option<Self> {
        let filling = setup.spec().effect.filling()?;
        let (dataset, wanted) = (setup.dataset?, wanted(setup).into_iter().next()?);
        let rows = match filling {
            Filling::Bulk(rows) => dialect.load_of(wire, dataset, &wanted, rows),
            Filling::Rows { .. } => Vec::new(),
        };
        Some(Self { filling, table: wanted.table, rows: rows.into() })
    }

    pub fn is_load(&self) -> bool {
        matches!(self.filling, Filling::Bulk(_))
    }

    pub fn open<D: Tables>(
        &self,
        dialect: &D,
        wire: &mut D::Wire,
        common: &Arc<Ledger>,
    ) -> Result<Filler, WireError> {
        let fillings = self.clone();
        if !self.is_load() {
            let (name, ledger) = (self.table.name.to_owned(), Arc::clone(common));
            return Ok(Filler { fillings, name, ledger });
        }
        let name = format!("job_{}", wire.number());
        dialect.make_like(wire, &self.table, &name)?;
        Ok(Filler { fillings, name, ledger: Arc::default() })
    }

    /// `[rows there, rows inserted]` since the last time, over all connections; `None` if each has
    /// its own table.
    pub fn counted<D: Tables>(&self, wire: &mut D::Wire, common: &Ledger) -> Option<[u64; 2]> {
        let Filling::Rows { most, .. } = self.filling else { return None };
        Some(settled::<D>(wire, self.table.name, common, most, false))
    }
}

impl Filler {
    pub fn is_load(&self) -> bool {
        self.fillings.is_load()
    }

    pub fn table(&self) -> &Table {
        &self.fillings.table
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn rows(&self) -> &Arc<[u8]> {
        &self.fillings.rows
    }

    pub fn called(&self) {
        self.ledger.ask(self.fillings.filling.rows_a_call());
    }

    /// `[rows there, rows inserted]` since the last time; `None` for a shared table.
    pub fn counted<D: Tables>(&self, wire: &mut D::Wire) -> Option<[u64; 2]> {
        self.is_load().then(|| settled::<D>(wire, &self.name, &self.ledger, 0, true))
    }
}

fn settled<D: Tables>(
    wire: &mut D::Wire,
    table: &str,
    ledger: &Ledger,
    empty_at: u64,
    is_own: bool,
) -> [u64; 2] {
    let count = wire.value(&D::count(table));
    let there = count.ok().map(|count| count.and_then(|count| count.parse().ok()).unwrap_or(0));
    let empty = || wire.query(&D::empty(table, is_own)).is_ok();
    ledger.settle_and_empty(there, empty_at, empty)
}
