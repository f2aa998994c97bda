//! Short constructors for tables and columns.

use hopcost_core::{Column, Table};

macro_rules! columns {
    ($($name:ident $kind:expr),* $(,)?) => {
        &[$(hopcost_core::Column { name: stringify!($name), kind: $kind }),*]
    };
}

pub(crate) use columns;

pub fn table(
    name: &'static str,
    columns: &'static [Column],
    key: &'static [usize],
    rows: u64,
) -> Table {
    Table { name, columns, key, indexes: &[], rows, logged: false }
}
