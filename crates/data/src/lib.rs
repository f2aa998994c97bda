//! What databases hold and are asked, and what comes with hopcost as files.
//!
//! RULE: pure. Each row and each request follows from its number.

pub mod datasets;
pub mod experiments;
pub mod published;
pub mod workloads;
