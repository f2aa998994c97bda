//! Statistics: quantiles, intervals, verdicts.
//!
//! RULE: pure functions of numbers. No I/O, no clock; randomness only from a seed parameter.

mod apart;
mod cluster;
mod contrast;
mod correlation;
mod guard;
mod judge;
mod looks;
mod median;
mod modes;
mod objection;
mod pilot;
mod quantile;
mod ratio;
mod sample;
pub mod starts;
mod unpaired;
mod usl;
mod worst;

pub use apart::{Apart, Occasion, difference_of, holm, log_ratio_of};
pub use cluster::widest_gap;
pub use contrast::{Block, cost, cost_interval, mean_interval, simple_cost};
pub use correlation::independent;
pub use guard::samples_to_drop;
pub use judge::{Goal, Standing, blocks_needed};
pub use looks::Looks;
pub use median::median_interval;
pub use modes::{Mode, modes};
pub use objection::consistent_with_zero;
pub use pilot::{Window, choose_window, window_between};
pub use quantile::{quantile, spread};
pub use ratio::paired_ratio;
pub use unpaired::difference;
pub use usl::{Boundary, LEAST_FOR_A_LAW, Rate, fit as fit_law};
pub use worst::{WorstSet, find as find_worst};
