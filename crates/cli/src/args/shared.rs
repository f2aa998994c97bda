//! What several commands take.

use clap::Args;
use hopcost_core::{CpuSet, Effort};

/// Time and detail of a measurement.
#[derive(Debug, Args)]
pub struct EffortArgs {
    /// Seconds per step: headline figures only
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Minutes per step: every variant, tight intervals
    #[arg(long)]
    full: bool,
}

impl EffortArgs {
    pub fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Normal,
        }
    }
}

pub const STORE: &str = "hopcost.db";

pub fn cpu_list(text: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(text).map_err(|error| error.to_string())
}
