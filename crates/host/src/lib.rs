//! The host: its topology checks, observers, probes and database servers. It connects to nothing.

pub mod checks;
pub mod observers;
pub mod occupancy;
pub mod probes;
pub mod server_placement;
pub mod service;
