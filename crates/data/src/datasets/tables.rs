//! Tables and columns in few words.

use hopcost_core::{Column, Table};

/// Columns by name and kind.
macro_rules! columns {
    ($($name:ident $kind:expr),* $(,)?) => {
        &[$(hopcost_core::Column { name: stringify!($name), kind: $kind }),*]
    };
}

pub(crate) use columns;

/// A table without further indexes, of which no log is needed.
pub fn table(
    name: &'static str,
    columns: &'static [Column],
    key: &'static [usize],
    rows: u64,
) -> Table {
    Table { name, columns, key, indexes: &[], rows, logged: false }
}
