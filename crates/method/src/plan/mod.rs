//! From an experiment and a machine to what will be measured where. Pure: nothing is touched.
//!
//! Method: `node:A`, `node:B` stand for real nodes in turn. Node i is A and node i + k is B, for each i
//! around the circle, so that every node is as often A as B, and whatever is peculiar to a node ("node
//! 0 owns the disk") cancels; all strides k together are all pairs. One *unit* of the comparison is one
//! block of each binding. A place that is given by its distance is looked for from where the level's
//! workers stand. If a memory policy is what varies, workers are dealt out to all nodes in turn, so that
//! few streams stand on all nodes, too.

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
