//! The data sets.
//!
//! A new one is a file here and a line in [`DATASETS`].

mod nothing;
pub(crate) mod tran_stats;

use hopcost_core::Dataset;

/// All data sets.
pub const DATASETS: &[&dyn Dataset] = &[&tran_stats::TranStats, &nothing::Nothing];
