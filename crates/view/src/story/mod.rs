//! Turns a result into a list of blocks that each format shows in its own way.

pub mod absence;
pub mod between;
pub mod block;
pub mod doctor;
pub mod findings;
mod observed;
pub mod probe;
pub mod report;
pub mod section;
mod trust;
pub mod verdict;
