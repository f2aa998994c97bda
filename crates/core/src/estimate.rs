//! Numbers that cannot lose their uncertainty.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "us")]
    Microseconds,
    /// 10⁹ bytes per second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A part of one; a cost is the share of throughput lost.
    #[serde(rename = "fraction")]
    Fraction,
}

impl Unit {
    /// Is a larger value the better one?
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::GigabytesPerSecond | Self::PerSecond)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::GigabytesPerSecond => "GB/s",
            Self::PerSecond => "/s",
            Self::Fraction => "of 1",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub point: f64,
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The confidence that was really reached, such as 0.95.
    pub level: f64,
    pub n: u64,
    /// Independent units among them (rounds, blocks): what the interval rests on.
    pub n_effective: f64,
}

/// How the single samples lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub min: f64,
    /// 5 % lie below.
    pub p5: f64,
    /// Half lie below.
    pub median: f64,
    /// 95 % lie below.
    pub p95: f64,
    pub max: f64,
}
