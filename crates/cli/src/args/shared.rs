//! What several commands take.

use clap::Args;
use hopcost_core::{CpuSet, Effort};
use hopcost_method::pace::StartsAsked;
use hopcost_method::schedule::LEAST_STARTS;

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

const MOST_STARTS: u64 = 100;

pub fn starts(text: &str) -> Result<StartsAsked, String> {
    match text.parse() {
        Ok(1) => Ok(StartsAsked::One),
        Ok(number @ LEAST_STARTS..=MOST_STARTS) => Ok(StartsAsked::Number(number)),
        _ => Err(format!("1, or {LEAST_STARTS} to {MOST_STARTS}: fewer starts give no verdict")),
    }
}
