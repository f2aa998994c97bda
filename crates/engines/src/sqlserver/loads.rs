//! Creates tables in SQL Server and loads their rows.

use std::ops::Range;

use hopcost_core::{Dataset, Kind, RowSink, Table};

use super::super::Wanted;
use super::super::server::tables::{Bulk, Room, Tables};
use super::super::server::wire::{ServerError, Wire as _, WireError};
use super::dialect::SqlServerDialect;
use super::packet::put_wide;
use super::schema::{create, create_in_memory, indexes, is_in_memory, load_into};
use super::tokens::token;
use super::types::{code, identifier_bytes, moment_bytes};
use super::wire::Wire;

impl Tables for SqlServerDialect {
    const BATCH_ROWS: u64 = 20_000;
    const ROOM: Room = Room {
        // Row header, slot and NULL bitmap.
        row_bytes: 11,
        index_entry_bytes: 60,
        key_is_index: false,
        // Pages are nearly full after loading in order, less so otherwise.
        fill: [9, 8],
    };

    fn create(table: &Table) -> String {
        create(table, table.name)
    }

    /// Memory-optimized tables are created with their indexes.
    fn index(table: &Table) -> Vec<String> {
        if is_in_memory(table) { Vec::new() } else { indexes(table) }
    }

    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        numbers: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8> {
        let mut rows = Rows::new(&wanted.table, [0; 5]);
        numbers.for_each(|number| rows.row(dataset, wanted.index, number));
        rows.message.split_off(rows.head)
    }

    /// A memory-optimized table comes with its insert procedure.
    fn make(&self, wire: &mut Wire, table: &Table) -> Result<(), WireError> {
        if !is_in_memory(table) {
            return wire.query(&create(table, table.name)).map(drop);
        }
        let room = wire.script("memory_filegroup")?.to_owned();
        let [made, procedure] = create_in_memory(table);
        [room, made, procedure].iter().try_for_each(|sql| wire.query(sql).map(drop))
    }

    fn bulk(&self, wire: Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError> {
        let rows = Rows::new(table, wire.collation());
        Ok(Box::new(InsertBulk { wire, statement: load_into(table, table.name), rows, count: 0 }))
    }

    fn load_of(&self, wire: &Wire, dataset: &dyn Dataset, wanted: &Wanted, count: u64) -> Vec<u8> {
        let mut rows = Rows::new(&wanted.table, wire.collation());
        (0..count).for_each(|row| rows.row(dataset, wanted.index, row));
        rows.end().to_vec()
    }

    fn make_like(&self, wire: &mut Wire, table: &Table, name: &str) -> Result<(), WireError> {
        // An earlier run may have left one, if the database is kept.
        wire.query(&format!("IF OBJECT_ID('{name}') IS NOT NULL DROP TABLE [{name}]"))?;
        wire.query(&create(table, name))?;
        // A rowstore before 2014 and on compatible servers.
        if let Ok(sql) = wire.script("columnstore") {
            let _ = wire.query(&sql.replace("{table}", name));
        }
        Ok(())
    }

    fn quoted(name: &str) -> String {
        format!("[{name}]")
    }

    fn count(name: &str) -> String {
        format!("SELECT count_big(*) FROM [{name}]")
    }

    /// TRUNCATE fails on memory-optimized tables, and DELETE leaves rows in a columnstore.
    fn empty(name: &str, is_own: bool) -> String {
        format!("{} [{name}]", if is_own { "TRUNCATE TABLE" } else { "DELETE FROM" })
    }
}

struct InsertBulk {
    wire: Wire,
    statement: String,
    rows: Rows,
    count: u64,
}

impl Bulk for InsertBulk {
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>) {
        self.count = rows.end - rows.start;
        self.rows.message.truncate(self.rows.head);
        rows.for_each(|row| self.rows.row(dataset, index, row));
    }

    fn send(&mut self) -> Result<(), WireError> {
        self.wire.query(&self.statement)?;
        let (count, taken) = (self.count, self.wire.load(self.rows.end())?);
        if taken == count {
            return Ok(());
        }
        let words = format!("of {count} rows the server took {taken}");
        Err(WireError::Server(ServerError::of(words)))
    }
}

struct Rows {
    message: Vec<u8>,
    kinds: Vec<Kind>,
    at: usize,
    head: usize,
}

impl Rows {
    fn new(table: &Table, collation: [u8; 5]) -> Self {
        let mut message = vec![token::COLUMNS];
        message.extend_from_slice(&(table.columns.len() as u16).to_le_bytes());
        for column in table.columns {
            // No user-defined type; nullable and updatable.
            message.extend_from_slice(&[0, 0, 0, 0, 9, 0]);
            describe(&mut message, column.kind, collation);
            let at = message.len();
            message.push(0);
            message[at] = put_wide(&mut message, column.name) as u8;
        }
        let kinds = table.columns.iter().map(|column| column.kind).collect();
        let head = message.len();
        Self { message, kinds, at: 0, head }
    }

    fn row(&mut self, dataset: &dyn Dataset, index: usize, number: u64) {
        self.at = 0;
        self.message.push(token::ROW);
        dataset.row(index, number, self);
    }

    fn end(&mut self) -> &[u8] {
        self.message.push(token::DONE);
        self.message.extend_from_slice(&[0; 12]);
        &self.message
    }

    fn next(&mut self) -> Kind {
        let kind = self.kinds.get(self.at).copied().unwrap_or(Kind::Integer(8));
        self.at += 1;
        kind
    }

    fn short(&mut self, bytes: &[u8]) {
        self.message.push(bytes.len() as u8);
        self.message.extend_from_slice(bytes);
    }
}

fn describe(out: &mut Vec<u8>, kind: Kind, collation: [u8; 5]) {
    let mut of_text = |code: u8, width: u16| {
        out.push(code);
        out.extend_from_slice(&width.to_le_bytes());
        out.extend_from_slice(&collation);
    };
    match kind {
        Kind::Text(most) => of_text(code::VARCHAR, most),
        Kind::Padded(width) => of_text(code::CHAR, width),
        Kind::Integer(bytes) => out.extend_from_slice(&[code::INTEGER, width_of(bytes)]),
        Kind::Timestamp => out.extend_from_slice(&[code::DATETIME2, 6]),
        Kind::Uuid => out.extend_from_slice(&[code::GUID, 16]),
    }
}

/// Integers have two, four or eight bytes.
fn width_of(bytes: u8) -> u8 {
    match bytes {
        0..=2 => 2,
        3..=4 => 4,
        _ => 8,
    }
}

impl RowSink for Rows {
    fn integer(&mut self, value: i64) {
        let Kind::Integer(bytes) = self.next() else { return };
        self.short(&value.to_le_bytes()[..width_of(bytes).into()]);
    }

    fn text(&mut self, value: &str) {
        let width = match self.next() {
            Kind::Padded(width) => usize::from(width),
            _ => value.len(),
        };
        self.message.extend_from_slice(&(width as u16).to_le_bytes());
        self.message.extend_from_slice(value.as_bytes());
        self.message.resize(self.message.len() + width.saturating_sub(value.len()), b' ');
    }

    fn timestamp_us(&mut self, value: i64) {
        self.next();
        self.short(&moment_bytes(value));
    }

    fn uuid(&mut self, value: u128) {
        self.next();
        self.short(&identifier_bytes(value));
    }

    fn null(&mut self) {
        match self.next() {
            Kind::Text(_) | Kind::Padded(_) => self.message.extend_from_slice(&[0xff, 0xff]),
            _ => self.message.push(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::server::dataset_named;
    use super::super::tokens::{Piece, ServerInfo};
    use super::*;

    #[test]
    fn rows_are_read_as_an_answer_would_be() {
        let dataset = dataset_named("tran_stats").unwrap();
        let table = dataset.tables(10)[0].clone();
        let mut rows = Rows::new(&table, [9, 4, 0, 0, 0]);
        (0..3).for_each(|row| rows.row(dataset, 0, row));
        let mut seen: Vec<Vec<Option<String>>> = Vec::new();
        let message = rows.end().to_vec();
        let mut take = |piece: Piece<'_>| {
            match (piece, seen.last_mut()) {
                (Piece::Row, _) => seen.push(Vec::new()),
                (Piece::Value(value), Some(row)) => row.push(value.words()),
                _ => {}
            }
            Ok(())
        };
        ServerInfo::default().take(&message, &mut take).unwrap();
        assert!(seen.len() == 3 && seen.iter().all(|row| row.len() == table.columns.len()));
        assert_eq!(seen[0].last().unwrap().as_ref().unwrap().len(), 100, "it is padded");
        rows.message.truncate(rows.head);
        rows.row(dataset, 0, 0);
        assert!(message.starts_with(&rows.message));
    }
}
