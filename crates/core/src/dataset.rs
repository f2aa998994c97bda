//! Data whose every row follows from its number: the same on every machine, in any order, in parallel.

use serde::Serialize;

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
    /// A universally unique identifier, 16 bytes.
    Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
    /// Which of them, by position, make the clustered key.
    pub key: &'static [usize],
    /// Further indexes: the columns of each, by position.
    pub indexes: &'static [&'static [usize]],
    pub rows: u64,
    /// Is each change of it to survive a crash? Else a database that can leave it out writes no log of it.
    pub logged: bool,
}

/// A UUID as it is written: `00112233-4455-6677-8899-aabbccddeeff`.
pub fn hyphenated(uuid: u128) -> String {
    let digits = format!("{uuid:032x}");
    let group = |from: usize, to: usize| &digits[from..to];
    [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-")
}

/// Takes the values of one row, column by column.
pub trait RowSink {
    fn integer(&mut self, value: i64);
    fn text(&mut self, value: &str);
    /// Microseconds since 1970-01-01 00:00.
    fn timestamp_us(&mut self, value: i64);
    /// An identifier; its usual text, where nothing else is known of it.
    fn uuid(&mut self, value: u128) {
        self.text(&hyphenated(value));
    }
    /// No value: the NULL of databases. Never in a column of a key.
    fn null(&mut self);
}

/// A data set. A new one is one file in `data`.
pub trait Dataset: Sync {
    /// Its name in experiment files and on the command line.
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// What `scale` counts, the rows of its main table, by the name that people have for them.
    fn unit(&self, scale: u64) -> &'static str {
        if scale == 1 { "row" } else { "rows" }
    }

    /// Its tables when the main one has `scale` rows.
    fn tables(&self, scale: u64) -> Vec<Table>;

    /// What [`Self::row`] calls the table at this position of `tables(scale)`: another number only if the table holds
    /// other rows at this scale than at others.
    fn source(&self, table: usize, _scale: u64) -> usize {
        table
    }

    /// Hands row `number` (from 0) of the table of this index to `sink`.
    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink);
}
