//! Tables in DuckDB's words, and their rows on the way there.

use hopcost_core::{Column, Dataset, Kind, RowSink, Table, hyphenated};

use super::super::{SAMPLES, Wanted, samples};
use super::ffi::{Appender, Connection, DuckDbError};

/// The statement that makes a table. An index helps nobody who scans, and each costs memory: there is none but
/// that of the key, where it is not in the order of the rows. It takes the place of one of its name.
fn create(table: &Table, name: &str) -> String {
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    format!("CREATE OR REPLACE TABLE \"{name}\" ({})", columns.join(", "))
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        Kind::Integer(0..=2) => "SMALLINT",
        Kind::Integer(3..=4) => "INTEGER",
        Kind::Integer(_) => "BIGINT",
        Kind::Text(_) | Kind::Padded(_) | Kind::Uuid => "VARCHAR",
        Kind::Timestamp => "TIMESTAMP",
    };
    format!("\"{}\" {kind}", column.name)
}

/// About how many bytes a table takes: nothing of it is compressed in memory.
pub fn bytes(dataset: &dyn Dataset, wanted: &Wanted) -> u64 {
    let mut size = Size(0);
    samples(&wanted.table).for_each(|n| dataset.row(wanted.index, n, &mut size));
    wanted.table.rows * size.0 / SAMPLES.min(wanted.table.rows).max(1)
}

/// A text's place; what is longer than it lies elsewhere.
const TEXT_BYTES: u64 = 16;

/// Bytes of values.
struct Size(u64);

impl RowSink for Size {
    fn integer(&mut self, _: i64) {
        self.0 += 8;
    }

    fn text(&mut self, value: &str) {
        let elsewhere = if value.len() > 12 { value.len() as u64 } else { 0 };
        self.0 += TEXT_BYTES + elsewhere;
    }

    fn timestamp_us(&mut self, _: i64) {
        self.0 += 8;
    }

    fn null(&mut self) {
        self.0 += 8;
    }
}

/// Rows between two words about how far it is.
const BATCH_ROWS: u64 = 50_000;

/// Makes a table and fills it.
pub fn fill(
    connection: &Connection,
    dataset: &dyn Dataset,
    wanted: &Wanted,
    tell: &mut dyn FnMut(u64),
) -> Result<(), DuckDbError> {
    connection.query(&create(&wanted.table, wanted.table.name))?;
    let mut sink = Appended::to(connection, &wanted.table, wanted.table.name)?;
    for row in 0..wanted.table.rows {
        sink.at = 0;
        dataset.row(wanted.index, row, &mut sink);
        sink.appender.end_row()?;
        if row.is_multiple_of(BATCH_ROWS) {
            tell(row);
        }
    }
    sink.appender.end()
}

/// The first rows of a table, ready to be appended again and again.
pub struct Rows {
    table: Table,
    values: Vec<Held>,
}

/// A value of a row.
enum Held {
    Integer(i64),
    Text(String),
    Uuid(u128),
    Timestamp(i64),
    Null,
}

impl Rows {
    /// So many of them.
    pub fn of(dataset: &dyn Dataset, wanted: Wanted, count: u64) -> Self {
        let mut rows = Self { table: wanted.table, values: Vec::new() };
        (0..count).for_each(|row| dataset.row(wanted.index, row, &mut rows));
        rows
    }

    /// A table for them, with nothing in it.
    pub fn create(&self, name: &str) -> String {
        create(&self.table, name)
    }

    /// Appends all of them to a table, in one transaction.
    pub fn append(&self, connection: &Connection, name: &str) -> Result<(), DuckDbError> {
        let mut sink = Appended::to(connection, &self.table, name)?;
        for row in self.values.chunks(self.table.columns.len()) {
            sink.at = 0;
            for value in row {
                match value {
                    Held::Integer(value) => sink.integer(*value),
                    Held::Text(value) => sink.text(value),
                    Held::Uuid(value) => sink.uuid(*value),
                    Held::Timestamp(value) => sink.timestamp_us(*value),
                    Held::Null => sink.null(),
                }
            }
            sink.appender.end_row()?;
        }
        sink.appender.end()
    }
}

impl RowSink for Rows {
    fn integer(&mut self, value: i64) {
        self.values.push(Held::Integer(value));
    }

    fn text(&mut self, value: &str) {
        self.values.push(Held::Text(value.to_owned()));
    }

    fn uuid(&mut self, value: u128) {
        self.values.push(Held::Uuid(value));
    }

    fn timestamp_us(&mut self, value: i64) {
        self.values.push(Held::Timestamp(value));
    }

    fn null(&mut self) {
        self.values.push(Held::Null);
    }
}

struct Appended {
    appender: Appender,
    columns: &'static [Column],
    at: usize,
    /// Room for a text with blanks behind it.
    padded: String,
}

impl Appended {
    fn to(connection: &Connection, table: &Table, name: &str) -> Result<Self, DuckDbError> {
        let appender = connection.append(name)?;
        Ok(Self { appender, columns: table.columns, at: 0, padded: String::new() })
    }
}

impl RowSink for Appended {
    fn integer(&mut self, value: i64) {
        let Kind::Integer(bytes) = self.columns[self.at].kind else { return };
        self.appender.integer(value, bytes);
        self.at += 1;
    }

    fn text(&mut self, value: &str) {
        if let Kind::Padded(width) = self.columns[self.at].kind {
            self.padded.clear();
            self.padded.push_str(value);
            while self.padded.len() < usize::from(width) {
                self.padded.push(' ');
            }
            self.appender.text(&self.padded);
        } else {
            self.appender.text(value);
        }
        self.at += 1;
    }

    fn uuid(&mut self, value: u128) {
        self.appender.text(&hyphenated(value));
        self.at += 1;
    }

    fn timestamp_us(&mut self, value: i64) {
        self.appender.timestamp(value);
        self.at += 1;
    }

    fn null(&mut self) {
        self.appender.null();
        self.at += 1;
    }
}
