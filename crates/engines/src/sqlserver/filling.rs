//! Tables that are filled, and what is there of what was asked for.
//!
//! Method: rows come one by one, by a compiled procedure, into a table in memory of all connections, or many at
//! once by `INSERT BULK` into a table of the connection's own, which it makes, in columns where the server has such.
//! After each window the rows that are there are counted, of a common table by the connection that looks after the server, when
//! nobody is at work, and a table that is full is emptied.

use std::sync::Arc;

use hopcost_core::{Filling, Row, Setup, Table, TargetError};

use super::super::ledger::Ledger;
use super::super::server::failed;
use super::super::wanted;
use super::packet::kind;
use super::schema::{self, Rows};
use super::scripts;
use super::types::Argument;
use super::wire::{Wire, WireError};

/// What all connections of an experiment fill.
#[derive(Clone)]
pub struct Fillings {
    filling: Filling,
    table: Table,
    /// The message of a load.
    rows: Arc<Vec<u8>>,
}

/// How a row comes into a table in memory.
pub const INSERT_ROW: &str = "EXEC insert_row ?, ?, ?, ?, ?, ?";

/// Of a table in memory a row is made of three numbers: this says how.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::Moment, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

impl Fillings {
    /// Of a setup's workload; none where it fills nothing.
    pub fn of(setup: &Setup<'_>, collation: [u8; 5]) -> Option<Self> {
        let filling = setup.spec().effect.filling()?;
        let (dataset, wanted) = (setup.dataset?, wanted(setup).into_iter().next()?);
        let mut rows = Rows::new(&wanted.table, collation);
        if let Filling::Bulk(count) = filling {
            (0..count).for_each(|row| rows.row(dataset, wanted.index, row));
        }
        let rows = Arc::new(rows.end().to_vec());
        Some(Self { filling, table: wanted.table, rows })
    }

    /// Are rows brought in bulk?
    pub fn is_load(&self) -> bool {
        matches!(self.filling, Filling::Bulk(_))
    }

    /// Is the table in memory, as SQL Server has such?
    pub fn is_in_memory(&self) -> bool {
        schema::is_in_memory(&self.table)
    }

    /// For a connection, whose table is made where it is its own.
    pub fn open(&self, wire: &mut Wire, common: &Arc<Ledger>) -> Result<Filler, TargetError> {
        let is_load = self.is_load();
        let own = || format!("job_{}", wire.number);
        let table = if is_load { own() } else { self.table.name.to_owned() };
        if is_load {
            // A run before this may have left one of its name, where the database stays.
            let drop = format!("IF OBJECT_ID('{table}') IS NOT NULL DROP TABLE [{table}]");
            wire.query(&drop).map_err(failed)?;
            wire.query(&schema::create(&self.table, &table)).map_err(failed)?;
            // Before 2014, and in what only speaks as SQL Server does, a table is rows.
            if let Ok(sql) = scripts::sql("columnstore", &wire.version) {
                let _ = wire.query(&sql.replace("{table}", &table));
            }
        }
        let ledger = if is_load { Arc::default() } else { Arc::clone(common) };
        Ok(Filler { fillings: self.clone(), table, ledger, is_load, is_begun: false })
    }

    /// What is there, of all connections together, of what was asked for since the last time; none where each has a
    /// table of its own.
    pub fn counted(&self, wire: &mut Wire, common: &Ledger) -> Option<[u64; 2]> {
        let Filling::Rows { most, .. } = self.filling else { return None };
        Some(settled(wire, self.table.name, common, most, "DELETE FROM"))
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

    /// The statement that a load begins with.
    pub fn load(&self) -> String {
        schema::load_into(&self.fillings.table, &self.table)
    }

    /// How one row is inserted, where the workload's own words are not SQL Server's.
    pub fn statement(&self) -> Option<(String, Vec<(Argument, usize)>)> {
        let is_of_numbers = self.fillings.table.columns.len() == OF_A_ROW.len();
        let is_said_otherwise = !self.is_load && is_of_numbers;
        is_said_otherwise.then(|| (INSERT_ROW.to_owned(), OF_A_ROW.to_vec()))
    }

    /// Rows of one call that went well: a compiled procedure counts none.
    pub fn one_row(&self) -> Option<Row> {
        (!self.is_load).then(|| Row::new().integer(1))
    }

    /// A call was sent.
    pub fn called(&mut self) {
        self.is_begun = self.is_load;
        self.ledger.ask(self.fillings.filling.rows_a_call());
    }

    /// Is the server about to say that it is ready for the rows?
    pub fn is_to_send(&self) -> bool {
        self.is_begun
    }

    /// Hands them over.
    pub fn send_rows(&mut self, wire: &mut Wire) -> Result<(), WireError> {
        self.is_begun = false;
        wire.until_done(|_| Ok(()))?;
        let packets = wire.packets(kind::BULK, &self.fillings.rows);
        wire.ask(&packets, None)
    }

    /// What is there of what was asked for since the last time; none of a table that others fill, too.
    pub fn counted(&self, wire: &mut Wire) -> Option<[u64; 2]> {
        self.is_load.then(|| settled(wire, &self.table, &self.ledger, 0, "TRUNCATE TABLE"))
    }
}

/// A table in memory knows no TRUNCATE, and a columnstore keeps what was deleted: the words that empty it differ.
fn settled(
    wire: &mut Wire,
    table: &str,
    ledger: &Ledger,
    empty_at: u64,
    empty_by: &str,
) -> [u64; 2] {
    let there = count(wire, table).ok();
    let empty = || wire.query(&format!("{empty_by} [{table}]")).is_ok();
    ledger.settle_and_empty(there, empty_at, empty)
}

fn count(wire: &mut Wire, table: &str) -> Result<u64, WireError> {
    let there = wire.value(&format!("SELECT count_big(*) FROM [{table}]"))?;
    Ok(there.and_then(|there| there.parse().ok()).unwrap_or(0))
}
