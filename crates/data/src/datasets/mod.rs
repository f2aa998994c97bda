//! The data sets: one file each, registered in [`DATASETS`].

pub(crate) mod archive_view;
pub mod big_table_im;
mod insert_test;
mod letters;
mod nothing;
mod series;
mod tables;
pub(crate) mod tpcc;
pub(crate) mod tran_stats;

use hopcost_core::Dataset;

pub const DATASETS: &[&dyn Dataset] = &[
    &tran_stats::TranStats,
    &tpcc::Tpcc,
    &archive_view::ArchiveView,
    &insert_test::InsertTest,
    &big_table_im::BigTableIm,
    &nothing::Nothing,
];
