//! Tables in PostgreSQL's SQL, and their rows for COPY.
//!
//! A table is loaded in the order of its primary key, as there is no clustered index. It is
//! unlogged unless its changes have to be durable.

use std::ops::Range;
use std::time::Duration;

use hopcost_core::{Column, Dataset, Kind, RowSink, Table};
use hopcost_sys::readiness::Poller;

use super::super::Wanted;
use super::super::server::tables::{Bulk, Room, Tables};
use super::super::server::wire::{Wire as _, WireError};
use super::run::PostgresDialect;
use super::types::US_TO_2000;
use super::wire::Wire;

impl Tables for PostgresDialect {
    const BATCH_ROWS: u64 = 512;
    const ROOM: Room = Room {
        // Tuple header and line pointer, less the lengths that only the protocol has.
        row_bytes: 16,
        // Index pages may be half empty.
        index_entry_bytes: 40,
        key_is_index: true,
        fill: [1, 1],
    };

    fn create(table: &Table) -> String {
        let columns = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Integer(0..=2) => "smallint".to_owned(),
                Kind::Integer(3..=4) => "integer".to_owned(),
                Kind::Integer(_) => "bigint".to_owned(),
                Kind::Text(most) => format!("varchar({most})"),
                Kind::Padded(width) => format!("char({width})"),
                Kind::Timestamp => "timestamp".to_owned(),
                Kind::Uuid => "uuid".to_owned(),
            };
            format!("\"{}\" {kind}", column.name)
        });
        let columns: Vec<String> = columns.collect();
        let unlogged = if table.logged { "" } else { "UNLOGGED " };
        format!("CREATE {unlogged}TABLE \"{}\" ({})", table.name, columns.join(", "))
    }

    fn index(table: &Table) -> Vec<String> {
        let name = table.name;
        let names = |columns: &[usize]| {
            let names = columns.iter().map(|at| format!("\"{}\"", table.columns[*at].name));
            names.collect::<Vec<_>>().join(", ")
        };
        // UUIDs are never read in order.
        let kind = |columns: &[usize]| match columns {
            [only] if table.columns[*only].kind == Kind::Uuid => "USING hash ",
            _ => "",
        };
        let primary = (!table.key.is_empty())
            .then(|| format!("ALTER TABLE \"{name}\" ADD PRIMARY KEY ({})", names(table.key)));
        let further = table.indexes.iter().map(|columns| {
            format!("CREATE INDEX ON \"{name}\" {}({})", kind(columns), names(columns))
        });
        primary.into_iter().chain(further).collect()
    }

    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8> {
        let mut packed = Packed::of(wanted.table.columns);
        rows.for_each(|row| packed.row(dataset, wanted.index, row));
        packed.bytes
    }

    fn make(&self, wire: &mut Wire, table: &Table) -> Result<(), WireError> {
        wire.query(&Self::create(table)).map(drop)
    }

    /// Sets hint bits now rather than during a measurement.
    fn settle(table: &Table) -> Option<String> {
        Some(format!("VACUUM (FREEZE, ANALYZE) \"{}\"", table.name))
    }

    fn bulk(&self, mut wire: Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError> {
        wire.copy_in(table.name)?;
        let poller = Poller::of([wire.channel().socket()])?;
        let mut packed = Packed::of(table.columns);
        packed.begin();
        Ok(Box::new(Copy { wire, poller, packed }))
    }

    fn load_of(&self, _: &Wire, dataset: &dyn Dataset, wanted: &Wanted, rows: u64) -> Vec<u8> {
        let mut packed = Packed::of(wanted.table.columns);
        packed.begin();
        packed.rows(dataset, wanted.index, 0..rows);
        packed.end();
        packed.bytes
    }

    fn make_like(&self, wire: &mut Wire, table: &Table, name: &str) -> Result<(), WireError> {
        let like = format!("CREATE UNLOGGED TABLE \"{name}\" (LIKE \"{}\")", table.name);
        wire.query(&like).map(drop)
    }

    fn quoted(name: &str) -> String {
        format!("\"{name}\"")
    }
}

struct Copy {
    wire: Wire,
    poller: Poller,
    packed: Packed,
}

impl Bulk for Copy {
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>) {
        self.packed.rows(dataset, index, rows);
    }

    fn send(&mut self) -> Result<(), WireError> {
        self.wire.send(&self.packed.bytes)?;
        self.packed.bytes.clear();
        // A server that runs out of space reads and discards the rest: its error is checked early.
        if self.poller.wait(Some(Duration::ZERO))?.count() > 0 {
            self.wire.copy_objection()?;
        }
        Ok(())
    }

    fn end(mut self: Box<Self>) -> Result<(), WireError> {
        self.packed.end();
        self.wire.send(&self.packed.bytes)?;
        self.wire.copy_end()
    }
}

struct Packed {
    columns: &'static [Column],
    at: usize,
    bytes: Vec<u8>,
}

impl Packed {
    fn of(columns: &'static [Column]) -> Self {
        Self { columns, at: 0, bytes: Vec::new() }
    }

    /// Signature, flags, and length of the header extension.
    fn begin(&mut self) {
        self.message(|packed| {
            packed.bytes.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
            packed.bytes.extend_from_slice(&[0; 8]);
        });
    }

    fn end(&mut self) {
        self.message(|packed| packed.bytes.extend_from_slice(&(-1_i16).to_be_bytes()));
    }

    fn rows(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>) {
        self.message(|packed| {
            for number in rows {
                packed.row(dataset, index, number);
            }
        });
    }

    fn row(&mut self, dataset: &dyn Dataset, index: usize, number: u64) {
        self.at = 0;
        self.bytes.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        dataset.row(index, number, self);
    }

    fn message(&mut self, fill: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(b"d\0\0\0\0");
        fill(self);
        let length = (self.bytes.len() - start - 1) as u32;
        self.bytes[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    }

    fn value(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(bytes);
        self.at += 1;
    }
}

impl RowSink for Packed {
    fn integer(&mut self, value: i64) {
        match self.columns[self.at].kind {
            Kind::Integer(0..=2) => self.value(&(value as i16).to_be_bytes()),
            Kind::Integer(3..=4) => self.value(&(value as i32).to_be_bytes()),
            _ => self.value(&value.to_be_bytes()),
        }
    }

    fn text(&mut self, value: &str) {
        let Kind::Padded(width) = self.columns[self.at].kind else {
            return self.value(value.as_bytes());
        };
        let blanks = usize::from(width).saturating_sub(value.chars().count());
        self.bytes.extend_from_slice(&((value.len() + blanks) as u32).to_be_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.resize(self.bytes.len() + blanks, b' ');
        self.at += 1;
    }

    fn uuid(&mut self, value: u128) {
        self.value(&value.to_be_bytes());
    }

    fn timestamp_us(&mut self, value: i64) {
        self.value(&(value - US_TO_2000).to_be_bytes());
    }

    fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn a_message_says_how_long_it_is() {
        let dataset = DATASETS[0];
        let tables = dataset.tables(10);
        let mut packed = Packed::of(tables[0].columns);
        packed.begin();
        packed.rows(dataset, 0, 0..3);
        packed.end();
        let (mut rest, mut lengths) = (&packed.bytes[..], Vec::new());
        while let Some((head, tail)) = rest.split_first_chunk::<5>() {
            assert_eq!(head[0], b'd');
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
            lengths.push(length);
            rest = &tail[length..];
        }
        assert_eq!((lengths[0], lengths[2], lengths.len()), (19, 2, 3));
        assert_eq!(lengths[1] % 3, 0, "rows of the same length");
    }
}
