//! A result beside its baseline: an earlier run of the same, to which a name was given.

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::known::Known;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    pub baseline: String,
    pub run: i64,
    /// When that began, in seconds since 1970.
    pub begun_s: i64,
    /// Is it this run, the first of that name?
    pub is_first: bool,
    /// The share of the first level's throughput that was lost since.
    pub worse: Known<Estimate>,
    /// How much the cost rose since: the difference of two shares of throughput.
    pub dearer: Known<Estimate>,
    pub notes: Vec<String>,
}
