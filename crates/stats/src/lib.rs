//! Numbers into verdicts: quantiles, intervals, clusters.
//!
//! RULE: pure functions of numbers. No I/O, no clock, and randomness only from a seed that the
//! caller gives.

mod cluster;
mod median;
mod quantile;
mod ratio;

pub use cluster::{Gap, widest_gap};
pub use median::median_interval;
pub use quantile::{quantile, spread};
pub use ratio::paired_ratio;
