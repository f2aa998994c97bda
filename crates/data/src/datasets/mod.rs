//! The data sets.
//!
//! A new one is a file here and a line in [`DATASETS`].

pub(crate) mod archive_view;
pub mod big_table_im;
mod insert_test;
mod nothing;
mod series;
pub(crate) mod tpcc;
pub(crate) mod tran_stats;

use hopcost_core::{Column, Dataset, Kind};

/// All data sets.
pub const DATASETS: &[&dyn Dataset] = &[
    &tran_stats::TranStats,
    &tpcc::Tpcc,
    &archive_view::ArchiveView,
    &insert_test::InsertTest,
    &big_table_im::BigTableIm,
    &nothing::Nothing,
];

/// A column, in a line of its own.
const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}
