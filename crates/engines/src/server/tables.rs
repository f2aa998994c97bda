//! Tables in a server's SQL, and their rows in its protocol.

use std::ops::Range;

use hopcost_core::{Answer, Dataset, Row, Setup, Table};

use super::super::{SAMPLES, Wanted, samples, wanted};
use super::dialect::Dialect;
use super::wire::{Wire as _, WireError};

pub struct Room {
    /// A row's header and its slot on the page.
    pub row_bytes: u64,
    /// An index entry with its pointer.
    pub index_entry_bytes: u64,
    /// Is the key a separate index?
    pub key_is_index: bool,
    /// Pages' total size over their content, as a fraction.
    pub fill: [u64; 2],
}

pub trait Tables: Dialect {
    const BATCH_ROWS: u64;
    /// Increase it when the same statements lay data out differently.
    const FORMAT: i64 = 1;
    const ROOM: Room;

    fn create(table: &Table) -> String;

    fn index(table: &Table) -> Vec<String>;

    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8>;

    fn make(&self, wire: &mut Self::Wire, table: &Table) -> Result<(), WireError> {
        wire.query(&Self::create(table)).map(drop)
    }

    fn settle(_table: &Table) -> Option<String> {
        None
    }

    fn bulk(&self, wire: Self::Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError>;

    fn load_of(
        &self,
        _wire: &Self::Wire,
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: u64,
    ) -> Vec<u8> {
        Self::packed(dataset, wanted, &mut (0..rows))
    }

    fn make_like(&self, wire: &mut Self::Wire, table: &Table, name: &str) -> Result<(), WireError>;

    fn quoted(name: &str) -> String;

    fn count(name: &str) -> String {
        format!("SELECT count(*) FROM {}", Self::quoted(name))
    }

    fn empty(name: &str, _is_own: bool) -> String {
        format!("TRUNCATE TABLE {}", Self::quoted(name))
    }
}

pub trait Bulk {
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>);

    fn send(&mut self) -> Result<(), WireError>;

    /// Completes the load.
    fn end(self: Box<Self>) -> Result<(), WireError> {
        Ok(())
    }
}

/// A digest of a table's definition and of sampled rows: equal data has an equal one.
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

pub fn digest<D: Tables>(setup: &Setup<'_>) -> u64 {
    let add = |row: Row, wanted: &Wanted| row.integer(digest_of::<D>(setup, wanted).cast_signed());
    Answer::of(wanted(setup).iter().fold(Row::new(), add)).digest
}

pub fn data_bytes<D: Tables>(setup: &Setup<'_>) -> u64 {
    super::super::data_bytes(setup, |dataset, wanted| bytes::<D>(dataset, wanted))
}

fn bytes<D: Tables>(dataset: &dyn Dataset, wanted: &Wanted) -> u64 {
    let (table, room) = (&wanted.table, D::ROOM);
    let packed = D::packed(dataset, wanted, &mut samples(table)).len() as u64;
    let row = packed / SAMPLES.min(table.rows).max(1) + room.row_bytes;
    let of_key = room.key_is_index && !table.key.is_empty();
    let indexes = table.indexes.len() as u64 + u64::from(of_key);
    let [numerator, denominator] = room.fill;
    table.rows * (row + indexes * room.index_entry_bytes) * numerator / denominator
}
