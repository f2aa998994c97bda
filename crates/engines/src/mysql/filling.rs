//! Tables that are filled, and what is there of what was asked for.
//!
//! Method: rows come one by one into a table of all connections, or many at once by `LOAD DATA LOCAL` into a
//! table of the connection's own, which it makes. After each window the rows that are there are counted, of a
//! common table by the connection of stream 0, when nobody is at work, and a table that is full is emptied.

use std::sync::Arc;

use hopcost_core::{Filling, Seat, Setup, Table, TargetError};

use super::super::ledger::Ledger;
use super::super::remote::failed;
use super::super::wanted;
use super::packet;
use super::schema::{self, Lines};
use super::types::Argument;
use super::wire::{QUERY, Wire, WireError};

/// What all connections of an experiment fill.
#[derive(Clone)]
pub struct Fillings {
    filling: Filling,
    table: Table,
    /// The rows of a load.
    rows: Arc<Lines>,
}

/// Of a table in memory a row is made of three numbers: this says how.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::DateTime, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

impl Fillings {
    /// Of a setup's workload; none where it fills nothing.
    pub fn of(setup: &Setup<'_>) -> Option<Self> {
        let filling = setup.spec().effect.filling()?;
        let (dataset, wanted) = (setup.dataset?, wanted(setup).into_iter().next()?);
        let mut rows = Lines::default();
        if let Filling::Bulk(count) = filling {
            (0..count).for_each(|row| rows.row(dataset, wanted.index, row));
        }
        Some(Self { filling, table: wanted.table, rows: Arc::new(rows) })
    }

    /// For a connection, whose table is made where it is its own.
    pub fn open(
        &self,
        wire: &mut Wire,
        seat: &Seat,
        common: &Arc<Ledger>,
    ) -> Result<Filler, TargetError> {
        let is_load = matches!(self.filling, Filling::Bulk(_));
        let own = || format!("job_{}", wire.number);
        let table = if is_load { own() } else { self.table.name.to_owned() };
        if is_load {
            wire.query(&schema::create_like(&self.table, &table)).map_err(failed)?;
        }
        let ledger = if is_load { Arc::default() } else { Arc::clone(common) };
        let empty_at = match self.filling {
            Filling::Rows { most, .. } => most,
            Filling::Bulk(_) => 0,
        };
        let counts = is_load || seat.stream == 0;
        let fillings = self.clone();
        Ok(Filler { fillings, table, ledger, counts, empty_at, is_load, is_begun: false })
    }
}

/// One connection's part.
pub struct Filler {
    fillings: Fillings,
    table: String,
    ledger: Arc<Ledger>,
    /// Is it this connection that counts?
    counts: bool,
    empty_at: u64,
    is_load: bool,
    /// Has the server been asked to take rows that it does not have yet?
    is_begun: bool,
}

impl Filler {
    /// Do many rows come at once?
    pub fn is_load(&self) -> bool {
        self.is_load
    }

    /// The packet that a load begins with.
    pub fn load(&self) -> Vec<u8> {
        let mut packet = Vec::new();
        packet::put(&mut packet, 0, |out| {
            out.push(QUERY);
            out.extend_from_slice(schema::load_into(&self.fillings.table, &self.table).as_bytes());
        });
        packet
    }

    /// How one row is inserted, where the workload's own words are not MySQL's.
    pub fn statement(&self) -> Option<(String, Vec<(Argument, usize)>)> {
        let is_of_numbers = self.fillings.table.columns.len() == OF_A_ROW.len();
        (!self.is_load && is_of_numbers).then(|| {
            let sql = format!("INSERT INTO `{}` VALUES (?, ?, ?, ?, ?, ?)", self.table);
            (sql, OF_A_ROW.to_vec())
        })
    }

    /// A call was sent.
    pub fn called(&mut self) {
        self.is_begun = self.is_load;
        self.ledger.ask(self.fillings.filling.rows_a_call());
    }

    /// Is the server about to ask for the rows?
    pub fn is_to_send(&self) -> bool {
        self.is_begun
    }

    /// Hands them over.
    pub fn send_rows(&mut self, wire: &mut Wire) -> Result<(), WireError> {
        self.is_begun = false;
        let number = wire.load_begins()?;
        let mut packets = Vec::new();
        let next = self.fillings.rows.put(&mut packets, number);
        packet::put(&mut packets, next, |_| {});
        wire.send(&packets)
    }

    /// What is there of what was asked for since the last time; none of a connection that does not count.
    pub fn counted(&self, wire: &mut Wire) -> Option<[u64; 2]> {
        if !self.counts {
            return None;
        }
        let there = self.count(wire).ok();
        let empty = || wire.query(&format!("TRUNCATE TABLE `{}`", self.table)).is_ok();
        Some(self.ledger.settle_and_empty(there, self.empty_at, empty))
    }

    fn count(&self, wire: &mut Wire) -> Result<u64, WireError> {
        let there = wire.value(&format!("SELECT count(*) FROM `{}`", self.table))?;
        Ok(there.and_then(|there| there.parse().ok()).unwrap_or(0))
    }
}
