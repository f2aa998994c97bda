//! Tables that are filled, and what is there of what was asked for.
//!
//! Method: rows come one by one into a table of all connections, or many at once by `LOAD DATA LOCAL` into a
//! table of the connection's own, which it makes. After each window the rows that are there are counted, of a
//! common table by the connection that looks after the server, when nobody is at work, and a table that is full is emptied.

use std::sync::Arc;

use hopcost_core::{Filling, Setup, Table, TargetError};

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
    pub fn open(&self, wire: &mut Wire, common: &Arc<Ledger>) -> Result<Filler, TargetError> {
        let is_load = matches!(self.filling, Filling::Bulk(_));
        let own = || format!("job_{}", wire.number);
        let table = if is_load { own() } else { self.table.name.to_owned() };
        if is_load {
            wire.query(&schema::create_like(&self.table, &table)).map_err(failed)?;
        }
        let ledger = if is_load { Arc::default() } else { Arc::clone(common) };
        let fillings = self.clone();
        Ok(Filler { fillings, table, ledger, is_load, is_begun: false })
    }

    /// What is there, of all connections together, of what was asked for since the last time; none where each has a
    /// table of its own.
    pub fn counted(&self, wire: &mut Wire, common: &Ledger) -> Option<[u64; 2]> {
        let Filling::Rows { most, .. } = self.filling else { return None };
        Some(settled(wire, self.table.name, common, most))
    }
}

/// One connection's part.
pub struct Filler {
    fillings: Fillings,
    table: String,
    ledger: Arc<Ledger>,
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

    /// What is there of what was asked for since the last time; none of a table that others fill, too.
    pub fn counted(&self, wire: &mut Wire) -> Option<[u64; 2]> {
        self.is_load.then(|| settled(wire, &self.table, &self.ledger, 0))
    }
}

fn settled(wire: &mut Wire, table: &str, ledger: &Ledger, empty_at: u64) -> [u64; 2] {
    let there = count(wire, table).ok();
    let empty = || wire.query(&format!("TRUNCATE TABLE `{table}`")).is_ok();
    ledger.settle_and_empty(there, empty_at, empty)
}

fn count(wire: &mut Wire, table: &str) -> Result<u64, WireError> {
    let there = wire.value(&format!("SELECT count(*) FROM `{table}`"))?;
    Ok(there.and_then(|there| there.parse().ok()).unwrap_or(0))
}
