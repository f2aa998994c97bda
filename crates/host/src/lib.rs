//! What this host is and does, and the probes of its hardware: one folder per noun, one file per
//! member, one line in the folder's registry.
//!
//! RULE: it connects to nothing.

pub mod checks;
pub mod observers;
pub mod occupancy;
pub mod probes;
pub mod server_placement;
