//! Data whose every row follows from its number: the same on every machine, in any order, in parallel.

use serde::Serialize;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A whole number of so many bytes.
    Integer(u8),
    /// Text of at most so many characters.
    Text(u16),
    /// Text padded with blanks to so many characters.
    Padded(u16),
    /// Microseconds since 1970-01-01 00:00.
    Timestamp,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Which of them, by position, make the clustered key.
    pub key: &'static [usize],
    /// Further indexes: the columns of each, by position.
    pub indexes: &'static [&'static [usize]],
    /// How many rows at this scale.
    pub rows: u64,
}

/// Takes the values of one row, column by column.
pub trait RowSink {
    /// A whole number.
    fn integer(&mut self, value: i64);
    /// Text, unpadded.
    fn text(&mut self, value: &str);
    /// Microseconds since 1970-01-01 00:00.
    fn timestamp_us(&mut self, value: i64);
    /// No value: the NULL of databases. Never in a column of a key.
    fn null(&mut self);
}

/// A data set. A new one is one file in the kit.
pub trait Dataset: Sync {
    /// Its name in experiment files and on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// What `scale` counts, the rows of its main table, by the name that people have for them.
    fn unit(&self, scale: u64) -> &'static str {
        if scale == 1 { "row" } else { "rows" }
    }

    /// Its tables when the main one has `scale` rows.
    fn tables(&self, scale: u64) -> Vec<Table>;

    /// Hands row `number` (from 0) of the table of this index to `sink`.
    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink);
}
