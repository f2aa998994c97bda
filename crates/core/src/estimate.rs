//! Estimates that carry their confidence intervals.

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
    #[serde(rename = "1/s")]
    PerSecond,
    /// A part of one; a cost is the share of throughput lost.
    #[serde(rename = "fraction")]
    Fraction,
}

impl Unit {
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
    pub high: f64,
    /// Confidence actually reached, such as 0.95.
    pub level: f64,
    pub n: u64,
    /// Independent units among the samples (rounds, blocks): the basis of the interval.
    pub n_effective: f64,
}

/// What an interval has beyond this hour: figures of one machine differ from one occasion to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occasion {
    /// The interval without it.
    pub this_hour: [f64; 2],
    /// Standard deviation between occasions, as a share of the figure.
    pub sd: f64,
    /// How many occasions of this host told it; `None` if it is assumed.
    pub learned_from: Option<u64>,
}

/// Standard deviations assumed in a guest: of one, over eleven occasions in 40 minutes, and over six in
/// a noisy hour (memory: 4% and up to 9%).
impl Occasion {
    pub const OF_MEMORY: f64 = 0.06;
    pub const OF_THROUGHPUT: f64 = 0.1;
    pub const OF_WAKING: f64 = 0.3;

    pub const fn in_this_hour(&self, figure: Estimate) -> Estimate {
        let [low, high] = self.this_hour;
        Estimate { low, high, ..figure }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub min: f64,
    pub p5: f64,
    pub median: f64,
    pub p95: f64,
    pub max: f64,
}
