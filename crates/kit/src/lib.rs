//! What hopcost can do: one folder per noun, one file per member, one line in the folder's registry.

pub mod checks;
pub mod datasets;
pub mod experiments;
pub mod observers;
pub mod occupancy;
pub mod pgbench;
pub mod probes;
pub mod published;
pub mod targets;
pub mod whereabouts;
pub mod workloads;
