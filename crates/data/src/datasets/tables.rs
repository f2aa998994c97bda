//! Tables and columns in a line each.

use hopcost_core::{Column, Kind, Table};

pub const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// A table without further indexes, of which no log is needed.
pub fn table(
    name: &'static str,
    columns: &'static [Column],
    key: &'static [usize],
    rows: u64,
) -> Table {
    Table { name, columns, key, indexes: &[], rows, logged: false }
}
