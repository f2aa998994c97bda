//! A result compared with its baseline: an earlier, named run of the same experiment.

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::known::Known;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    pub baseline: String,
    pub run: i64,
    pub begun_s: i64,
    /// Whether this run is the first with that baseline name.
    pub is_first: bool,
    /// Share of the baseline variant's throughput lost since then.
    pub worse: Known<Estimate>,
    /// Rise of the cost since then, as a difference of shares of throughput.
    pub dearer: Known<Estimate>,
    pub notes: Vec<String>,
}
