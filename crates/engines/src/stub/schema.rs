//! Tables in the stub's SQL, and their rows.

use std::ops::Range;

use hopcost_core::{Column, Dataset, Kind, RowSink, Table, hyphenated};

use super::super::Wanted;
use super::super::server::in_quotes;
use super::super::server::tables::{Bulk, Room, Tables};
use super::super::server::wire::{Wire as _, WireError};
use super::StubDialect;
use super::wire::{Wire, insert_into};

impl Tables for StubDialect {
    const BATCH_ROWS: u64 = 1_000;
    const ROOM: Room =
        Room { row_bytes: 10, index_entry_bytes: 20, key_is_index: true, fill: [1, 1] };

    fn create(table: &Table) -> String {
        made(table, table.name)
    }

    fn index(table: &Table) -> Vec<String> {
        let name = table.name;
        let index = |(n, columns): (usize, &&[usize])| {
            let columns: Vec<&str> = columns.iter().map(|at| table.columns[*at].name).collect();
            format!("CREATE INDEX hopcost.{name}_{n} ON {name} ({})", columns.join(", "))
        };
        table.indexes.iter().enumerate().map(index).collect()
    }

    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8> {
        let mut packed = Packed { columns: wanted.table.columns, at: 0, sql: Vec::new() };
        rows.for_each(|row| packed.row(dataset, wanted.index, row));
        packed.sql
    }

    fn bulk(&self, wire: Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError> {
        let packed = Packed { columns: table.columns, at: 0, sql: Vec::new() };
        Ok(Box::new(Load { wire, table: table.name, packed }))
    }

    fn make_like(&self, wire: &mut Wire, table: &Table, name: &str) -> Result<(), WireError> {
        wire.query(&made(table, name)).map(drop)
    }

    fn quoted(name: &str) -> String {
        format!("\"{name}\"")
    }

    fn empty(name: &str, _: bool) -> String {
        format!("DELETE FROM {name}")
    }
}

fn made(table: &Table, name: &str) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    format!("CREATE TABLE hopcost.{name} ({})", columns.join(", "))
}

struct Load {
    wire: Wire,
    table: &'static str,
    packed: Packed,
}

impl Bulk for Load {
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>) {
        self.packed.sql.clear();
        rows.for_each(|row| self.packed.row(dataset, index, row));
    }

    fn send(&mut self) -> Result<(), WireError> {
        self.wire.send(&insert_into(self.table, &self.packed.sql))?;
        self.wire.drain()
    }
}

struct Packed {
    columns: &'static [Column],
    at: usize,
    sql: Vec<u8>,
}

impl Packed {
    fn row(&mut self, dataset: &dyn Dataset, index: usize, number: u64) {
        self.at = 0;
        self.sql.extend_from_slice(if self.sql.is_empty() { b"(" } else { b",(" });
        dataset.row(index, number, self);
        self.sql.push(b')');
    }

    fn value(&mut self, value: &str) {
        let between = if self.at == 0 { "" } else { "," };
        self.sql.extend_from_slice(between.as_bytes());
        self.sql.extend_from_slice(value.as_bytes());
        self.at += 1;
    }
}

impl RowSink for Packed {
    fn integer(&mut self, value: i64) {
        self.value(&value.to_string());
    }

    fn text(&mut self, value: &str) {
        let width = match self.columns[self.at].kind {
            Kind::Padded(width) => usize::from(width),
            _ => 0,
        };
        self.value(&format!("'{}'", in_quotes(&format!("{value:<width$}"))));
    }

    fn timestamp_us(&mut self, value: i64) {
        self.integer(value);
    }

    fn uuid(&mut self, value: u128) {
        self.value(&format!("'{}'", hyphenated(value)));
    }

    fn null(&mut self) {
        self.value("NULL");
    }
}
