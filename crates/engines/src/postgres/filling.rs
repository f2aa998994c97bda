//! Tables that are filled, and what is there of what was asked for.
//!
//! Method: rows come one by one into a table of all connections, or many at once by COPY into a table of the
//! connection's own, which it makes. A load is one question: the statement, all rows packed beforehand as
//! binary, and their end. After each window the rows that are there are counted, of a common table
//! by the connection that looks after the server, when nobody is at work, and a table that is full is emptied.

use std::sync::Arc;

use bytes::BytesMut;
use hopcost_core::{Filling, Setup, TargetError};
use postgres_protocol::message::frontend;

use super::super::ledger::Ledger;
use super::super::remote::failed;
use super::super::wanted;
use super::schema::{self, Packed};
use super::wire::{Wire, WireError};

/// What all connections of an experiment fill.
#[derive(Clone)]
pub struct Fillings {
    filling: Filling,
    table: &'static str,
    /// The rows of a load, as COPY takes them, with what stands before and after them.
    rows: Arc<[u8]>,
}

impl Fillings {
    /// Of a setup's workload; none where it fills nothing.
    pub fn of(setup: &Setup<'_>) -> Option<Self> {
        let filling = setup.spec().effect.filling()?;
        let (dataset, wanted) = (setup.dataset?, wanted(setup).into_iter().next()?);
        let mut packed = Packed::of(wanted.table.columns);
        if let Filling::Bulk(rows) = filling {
            packed.begin();
            packed.rows(dataset, wanted.index, 0..rows);
            packed.end();
        }
        Some(Self { filling, table: wanted.table.name, rows: packed.bytes.into() })
    }

    /// For a connection, whose table is made where it is its own.
    pub fn open(&self, wire: &mut Wire, common: &Arc<Ledger>) -> Result<Filler, TargetError> {
        let own = || format!("job_{}", wire.pid);
        let (table, ledger) = match self.filling {
            Filling::Rows { .. } => (self.table.to_owned(), Arc::clone(common)),
            Filling::Bulk(_) => (own(), Arc::default()),
        };
        if matches!(self.filling, Filling::Bulk(_)) {
            let like = format!("CREATE UNLOGGED TABLE \"{table}\" (LIKE \"{}\")", self.table);
            wire.query(&like).map_err(failed)?;
        }
        let rows_a_call = self.filling.rows_a_call();
        Ok(Filler { table, ledger, rows_a_call, fillings: self.clone() })
    }

    /// What is there, of all connections together, of what was asked for since the last time; none where each has a
    /// table of its own.
    pub fn counted(&self, wire: &mut Wire, common: &Ledger) -> Option<[u64; 2]> {
        let Filling::Rows { most, .. } = self.filling else { return None };
        Some(settled(wire, self.table, common, most))
    }
}

/// One connection's part.
pub struct Filler {
    fillings: Fillings,
    table: String,
    ledger: Arc<Ledger>,
    rows_a_call: u64,
}

impl Filler {
    /// The messages of a load; none where rows come one by one.
    pub fn load(&self) -> Result<Option<Vec<u8>>, std::io::Error> {
        if !matches!(self.fillings.filling, Filling::Bulk(_)) {
            return Ok(None);
        }
        let mut messages = BytesMut::new();
        frontend::query(&schema::copy_into(&self.table), &mut messages)?;
        messages.extend_from_slice(&self.fillings.rows);
        frontend::copy_done(&mut messages);
        Ok(Some(messages.to_vec()))
    }

    /// A call was sent.
    pub fn called(&self) {
        self.ledger.ask(self.rows_a_call);
    }

    /// What is there of what was asked for since the last time; none of a table that others fill, too.
    pub fn counted(&self, wire: &mut Wire) -> Option<[u64; 2]> {
        let is_own = matches!(self.fillings.filling, Filling::Bulk(_));
        is_own.then(|| settled(wire, &self.table, &self.ledger, 0))
    }
}

fn settled(wire: &mut Wire, table: &str, ledger: &Ledger, empty_at: u64) -> [u64; 2] {
    let there = count(wire, table).ok();
    let empty = || wire.query(&format!("TRUNCATE \"{table}\"")).is_ok();
    ledger.settle_and_empty(there, empty_at, empty)
}

fn count(wire: &mut Wire, table: &str) -> Result<u64, WireError> {
    let there = wire.value(&format!("SELECT count(*) FROM \"{table}\""))?;
    Ok(there.and_then(|there| there.parse().ok()).unwrap_or(0))
}
