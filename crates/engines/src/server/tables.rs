//! Tables in a server's words, and their rows on the way there.

use std::ops::Range;

use hopcost_core::{Answer, Dataset, Row, Setup, Table};

use super::super::{SAMPLES, Wanted, samples, wanted};
use super::dialect::Dialect;
use super::wire::{Wire as _, WireError};

/// About how much a table takes beside what its rows are packed as.
pub struct Room {
    /// A row's head, its transaction, its place on the page.
    pub row_bytes: u64,
    /// An entry of an index, with what it leads to.
    pub index_entry_bytes: u64,
    /// Has the key an index of its own?
    pub key_is_index: bool,
    /// What pages take where some stay partly empty, as a fraction.
    pub fill: [u64; 2],
}

/// What makes tables in a server, and fills them.
pub trait Tables: Dialect {
    const BATCH_ROWS: u64;
    /// Goes up when data is laid out differently by the same statements.
    const FORMAT: i64 = 1;
    const ROOM: Room;

    /// The statement that makes a table, as its data is known by.
    fn create(table: &Table) -> String;

    /// The statements that index a table once it is loaded.
    fn index(table: &Table) -> Vec<String>;

    /// Some of its rows, packed as they are sent.
    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8>;

    /// Makes a table.
    fn make(&self, wire: &mut Self::Wire, table: &Table) -> Result<(), WireError> {
        wire.query(&Self::create(table)).map(drop)
    }

    /// What is said once a table is loaded and indexed, if anything is.
    fn settle(_table: &Table) -> Option<String> {
        None
    }

    /// Begins to hand rows over.
    fn bulk(&self, wire: Self::Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError>;

    /// The rows that each call of a load brings, as they are sent.
    fn load_of(
        &self,
        _wire: &Self::Wire,
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: u64,
    ) -> Vec<u8> {
        Self::packed(dataset, wanted, &mut (0..rows))
    }

    /// Makes a table like it, for the loads of one connection.
    fn make_like(&self, wire: &mut Self::Wire, table: &Table, name: &str) -> Result<(), WireError>;

    /// A name as it stands in SQL.
    fn quoted(name: &str) -> String;

    /// The question how many rows are in a table.
    fn count(name: &str) -> String {
        format!("SELECT count(*) FROM {}", Self::quoted(name))
    }

    /// The statement that empties a table, of one connection or of all.
    fn empty(name: &str, _is_own: bool) -> String {
        format!("TRUNCATE TABLE {}", Self::quoted(name))
    }
}

/// Rows on their way into a table.
pub trait Bulk {
    /// Packs these rows.
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>);

    /// Sends what is packed.
    fn send(&mut self) -> Result<(), WireError>;

    /// That was all.
    fn end(self: Box<Self>) -> Result<(), WireError> {
        Ok(())
    }
}

/// A digest of how a table is made, and of rows from all over it: equal data has an equal one.
pub fn digest_of<D: Tables>(setup: &Setup<'_>, wanted: &Wanted) -> u64 {
    let table = &wanted.table;
    let mut digest = Answer::of(Row::new().integer(D::FORMAT).integer(table.rows.cast_signed()));
    let statements = [D::create(table)].into_iter().chain(D::index(table));
    statements.for_each(|statement| digest.add(Row::new().text(&statement)));
    if let Some(dataset) = setup.dataset {
        let bytes = D::packed(dataset, wanted, &mut samples(table));
        digest.add(bytes.iter().fold(Row::new(), |row, byte| row.integer((*byte).into())));
    }
    digest.digest
}

/// The same of all of a setup's tables.
pub fn digest<D: Tables>(setup: &Setup<'_>) -> u64 {
    let add = |row: Row, wanted: &Wanted| row.integer(digest_of::<D>(setup, wanted).cast_signed());
    Answer::of(wanted(setup).iter().fold(Row::new(), add)).digest
}

/// About how many bytes the data takes in a server.
pub fn data_bytes<D: Tables>(setup: &Setup<'_>) -> u64 {
    super::super::data_bytes(setup, |dataset, wanted| bytes::<D>(dataset, wanted))
}

/// About how many bytes a table takes with its indexes.
fn bytes<D: Tables>(dataset: &dyn Dataset, wanted: &Wanted) -> u64 {
    let (table, room) = (&wanted.table, D::ROOM);
    let packed = D::packed(dataset, wanted, &mut samples(table)).len() as u64;
    let row = packed / SAMPLES.min(table.rows).max(1) + room.row_bytes;
    let of_key = room.key_is_index && !table.key.is_empty();
    let indexes = table.indexes.len() as u64 + u64::from(of_key);
    let [numerator, denominator] = room.fill;
    table.rows * (row + indexes * room.index_entry_bytes) * numerator / denominator
}
