//! Data sets whose rows follow from their numbers alone: the same everywhere, in any order.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Integer(u8),
    /// At most this many characters.
    Text(u16),
    /// Padded with blanks to this many characters.
    Padded(u16),
    /// Microseconds since 1970-01-01 00:00.
    Timestamp,
    Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
    /// Positions of the columns of the clustered key.
    pub key: &'static [usize],
    pub indexes: &'static [&'static [usize]],
    pub rows: u64,
    /// Whether changes must survive a crash; if not, a database may keep no log of this table.
    pub logged: bool,
}

pub fn hyphenated(uuid: u128) -> String {
    let digits = format!("{uuid:032x}");
    let group = |from: usize, to: usize| &digits[from..to];
    [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-")
}

pub trait RowSink {
    fn integer(&mut self, value: i64);
    fn text(&mut self, value: &str);
    fn timestamp_us(&mut self, value: i64);
    fn uuid(&mut self, value: u128) {
        self.text(&hyphenated(value));
    }
    /// Never in a key column.
    fn null(&mut self);
}

/// To add one, add one file to `data`.
pub trait Dataset: Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    fn unit(&self, scale: u64) -> &'static str {
        if scale == 1 { "row" } else { "rows" }
    }

    fn tables(&self, scale: u64) -> Vec<Table>;

    /// Number under which [`Self::row`] knows this table; differs from its position only if the
    /// table has other rows at this scale.
    fn source(&self, table: usize, _scale: u64) -> usize {
        table
    }

    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink);
}
