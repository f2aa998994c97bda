//! Tables in MySQL's SQL, and their rows for `LOAD DATA`.
//!
//! The key is InnoDB's clustered index. A table that starts empty and is not logged is kept in
//! memory (`ENGINE = MEMORY`), with hash indexes.

use std::ops::Range;

use hopcost_core::{Column, Dataset, Kind, RowSink, Table};

use super::super::Wanted;
use super::super::server::tables::{Bulk, Room, Tables};
use super::super::server::wire::{Wire as _, WireError};
use super::calendar::DateTime;
use super::flavour::MySqlDialect;
use super::packet;
use super::wire::Wire;

fn made(name: &str, parts: &[String], engine: &str) -> String {
    let parts = parts.join(", ");
    format!(
        "CREATE TABLE `{name}` ({parts}) ENGINE = {engine} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    )
}

fn is_in_memory(table: &Table) -> bool {
    !table.logged && table.rows == 0
}

fn columns(table: &Table) -> Vec<String> {
    table.columns.iter().map(column).collect()
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        Kind::Integer(0..=2) => "SMALLINT".to_owned(),
        Kind::Integer(3..=4) => "INTEGER".to_owned(),
        Kind::Integer(_) => "BIGINT".to_owned(),
        Kind::Text(most) => format!("VARCHAR({most})"),
        Kind::Padded(width) => format!("CHAR({width})"),
        Kind::Timestamp => "DATETIME(6)".to_owned(),
        Kind::Uuid => "BINARY(16)".to_owned(),
    };
    format!("`{}` {kind}", column.name)
}

fn names(table: &Table, columns: &[usize]) -> String {
    let names = columns.iter().map(|at| format!("`{}`", table.columns[*at].name));
    names.collect::<Vec<_>>().join(", ")
}

pub fn load_into(table: &Table, name: &str) -> String {
    let column = |(n, column): (usize, &Column)| match column.kind {
        Kind::Uuid => (format!("@c{n}"), Some(format!("`{}` = UNHEX(@c{n})", column.name))),
        _ => (format!("`{}`", column.name), None),
    };
    let (read, set): (Vec<String>, Vec<Option<String>>) =
        table.columns.iter().enumerate().map(column).unzip();
    let set: Vec<String> = set.into_iter().flatten().collect();
    let set = if set.is_empty() { String::new() } else { format!(" SET {}", set.join(", ")) };
    format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE `{name}` CHARACTER SET utf8mb4 ({}){set}",
        read.join(", ")
    )
}

impl Tables for MySqlDialect {
    const BATCH_ROWS: u64 = 20_000;
    const ROOM: Room = Room {
        // Record header, transaction ID and roll pointer.
        row_bytes: 20,
        index_entry_bytes: 60,
        key_is_index: false,
        // Loading in order leaves 1/16 of each page empty, and some pages stay half full.
        fill: [5, 4],
    };

    fn create(table: &Table) -> String {
        let mut parts = columns(table);
        if !table.key.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", names(table, table.key)));
        }
        if is_in_memory(table) {
            let hash = |columns: &&[usize]| format!("INDEX ({}) USING HASH", names(table, columns));
            parts.extend(table.indexes.iter().map(hash));
        }
        made(table.name, &parts, if is_in_memory(table) { "MEMORY" } else { "InnoDB" })
    }

    fn index(table: &Table) -> Vec<String> {
        let add = |columns: &&[usize]| format!("ADD INDEX ({})", names(table, columns));
        let all: Vec<String> = table.indexes.iter().map(add).collect();
        let is_left = !is_in_memory(table) && !all.is_empty();
        let statement = || format!("ALTER TABLE `{}` {}", table.name, all.join(", "));
        is_left.then(statement).into_iter().collect()
    }

    fn packed(
        dataset: &dyn Dataset,
        wanted: &Wanted,
        rows: &mut dyn Iterator<Item = u64>,
    ) -> Vec<u8> {
        let mut lines = Lines::default();
        rows.for_each(|row| lines.row(dataset, wanted.index, row));
        lines.bytes
    }

    fn make(&self, wire: &mut Wire, table: &Table) -> Result<(), WireError> {
        wire.query(&Self::create(table)).map(drop)
    }

    fn settle(table: &Table) -> Option<String> {
        Some(format!("ANALYZE TABLE `{}`", table.name))
    }

    fn bulk(&self, wire: Wire, table: &Table) -> Result<Box<dyn Bulk>, WireError> {
        let statement = load_into(table, table.name);
        Ok(Box::new(LoadData { wire, statement, lines: Lines::default(), packets: Vec::new() }))
    }

    fn load_of(&self, _: &Wire, dataset: &dyn Dataset, wanted: &Wanted, rows: u64) -> Vec<u8> {
        Self::packed(dataset, wanted, &mut (0..rows))
    }

    fn make_like(&self, wire: &mut Wire, table: &Table, name: &str) -> Result<(), WireError> {
        wire.query(&made(name, &columns(table), "InnoDB")).map(drop)
    }

    fn quoted(name: &str) -> String {
        format!("`{name}`")
    }
}

struct LoadData {
    wire: Wire,
    statement: String,
    lines: Lines,
    packets: Vec<u8>,
}

impl Bulk for LoadData {
    fn pack(&mut self, dataset: &dyn Dataset, index: usize, rows: Range<u64>) {
        self.lines.bytes.clear();
        rows.for_each(|row| self.lines.row(dataset, index, row));
    }

    fn send(&mut self) -> Result<(), WireError> {
        let number = self.wire.load(&self.statement)?;
        self.packets.clear();
        let next = put_lines(&self.lines.bytes, &mut self.packets, number);
        self.wire.send(&self.packets)?;
        self.wire.load_end(next)
    }
}

#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    is_begun: bool,
}

impl Lines {
    fn row(&mut self, dataset: &dyn Dataset, index: usize, number: u64) {
        self.is_begun = false;
        dataset.row(index, number, self);
        self.bytes.push(b'\n');
    }

    fn value(&mut self, bytes: &[u8]) {
        if self.is_begun {
            self.bytes.push(b'\t');
        }
        self.is_begun = true;
        self.bytes.extend_from_slice(bytes);
    }
}

/// Returns the next packet number.
pub fn put_lines(lines: &[u8], out: &mut Vec<u8>, mut number: u8) -> u8 {
    for piece in lines.chunks(PIECE_BYTES) {
        packet::put(out, number, |out| out.extend_from_slice(piece));
        number = number.wrapping_add(1);
    }
    number
}

/// Far below the servers' default `max_allowed_packet`.
const PIECE_BYTES: usize = 1 << 20;

impl RowSink for Lines {
    fn integer(&mut self, value: i64) {
        self.value(itoa::Buffer::new().format(value).as_bytes());
    }

    fn text(&mut self, value: &str) {
        if value.bytes().any(|byte| b"\\\t\n\0".contains(&byte)) {
            let escape = |character: char| match character {
                '\\' => "\\\\".to_owned(),
                '\t' => "\\t".to_owned(),
                '\n' => "\\n".to_owned(),
                '\0' => "\\0".to_owned(),
                other => other.to_string(),
            };
            return self.value(value.chars().map(escape).collect::<String>().as_bytes());
        }
        self.value(value.as_bytes());
    }

    fn uuid(&mut self, value: u128) {
        self.value(format!("{value:032x}").as_bytes());
    }

    fn timestamp_us(&mut self, value: i64) {
        self.value(DateTime::from_us(value).words().as_bytes());
    }

    fn null(&mut self) {
        self.value(b"\\N");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn tables_are_clustered_by_their_key() {
        let tables = DATASETS[0].tables(10);
        let create = MySqlDialect::create(&tables[0]);
        assert!(create.contains("`tran_begin` DATETIME(6)") && create.contains("ENGINE = InnoDB"));
        let index = MySqlDialect::index(&tables[1]).concat();
        assert!(index.contains("ADD INDEX (`server_config`, "), "{index}");
    }

    #[test]
    fn lines_become_packets_in_their_order() {
        let mut lines = Lines::default();
        lines.text("a\tb\\");
        lines.null();
        lines.timestamp_us(0);
        assert_eq!(lines.bytes, b"a\\tb\\\\\t\\N\t1970-01-01 00:00:00.000000");
        lines.bytes = vec![b'x'; PIECE_BYTES + 1];
        let mut out = Vec::new();
        assert_eq!(put_lines(&lines.bytes, &mut out, 255), 1);
        assert_eq!((out[3], out[4 + PIECE_BYTES + 3]), (255, 0));
    }
}
