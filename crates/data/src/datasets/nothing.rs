//! **nothing**: no tables, for workloads that need no data.

use hopcost_core::{Dataset, RowSink, Table};

pub struct Nothing;

impl Dataset for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn about(&self) -> &'static str {
        "no table: for calls that need no data"
    }

    fn tables(&self, _scale: u64) -> Vec<Table> {
        Vec::new()
    }

    fn row(&self, _table: usize, _number: u64, _sink: &mut dyn RowSink) {}
}
