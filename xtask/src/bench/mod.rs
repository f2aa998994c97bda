//! `cargo xtask bench`: hopcost side by side with the tools that measure the same.

use anyhow::Result;
use clap::ValueEnum;

/// What can be compared.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// The hardware probes.
    Probes,
}

/// Runs the comparison.
pub fn run(_what: What, _rounds: usize) -> Result<u8> {
    Ok(0)
}
