//! From an experiment and a machine to a plan. Pure.
//!
//! Method: letters stand for nodes in turn: node i is A and node i + k is B for all i, so that
//! peculiarities of a node cancel; all strides k give all pairs. One *unit* is one block of each
//! binding. Places given by distance are relative to the variant's workers.

mod apart;
mod bind;
mod boundaries;
mod cores;
mod distances;
mod layout;
mod place;

pub use bind::plan;
pub use hopcost_stats::Boundary;
pub use layout::{LeftOut, Placement, Plan, Point};
