//! **insert_test**: an empty heap with one number column, filled by inserts.

use hopcost_core::Kind::Integer;
use hopcost_core::{Column, Dataset, RowSink, Table};

use super::tables::{columns, table};

pub struct InsertTest;

const COLUMNS: &[Column] = columns! { number Integer(4) };

impl Dataset for InsertTest {
    fn name(&self) -> &'static str {
        "insert_test"
    }

    fn about(&self) -> &'static str {
        "an empty heap of one number, for what is inserted row by row"
    }

    fn tables(&self, _scale: u64) -> Vec<Table> {
        vec![Table { logged: true, ..table("insert_test", COLUMNS, &[], 0) }]
    }

    fn row(&self, _table: usize, _number: u64, _sink: &mut dyn RowSink) {}
}
