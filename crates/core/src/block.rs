//! Records of a comparison: blocks of four windows.
//!
//! A verdict is a pure function of these records, so a killed run resumes after the last one and a
//! report measures nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::ids::{CpuSet, NodeId};
use crate::known::{Known, Reason};
use crate::metric::Checks;
use crate::observer::Observation;
use crate::probe::Disturbance;
use crate::proof::Locality;
use crate::target::Lookups;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Finds the worst point of a sweep; never part of an estimate.
    Search,
    Fresh,
    /// A/A check: the baseline against itself; it must find no effect.
    Placebo,
    Long,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub nodes: BTreeMap<char, NodeId>,
    /// Variants that leave threads or cores unused take the last ones instead of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    pub number: u64,
    pub phase: Phase,
    /// Unit within the phase: one block for each binding of everything compared.
    pub unit: u64,
    pub streams: u32,
    pub binding: usize,
    /// Position of the tested variant; 0 is the baseline tested against itself.
    pub level: usize,
    /// True: baseline first and last (ABBA). False: baseline in the middle (BAAB).
    pub baseline_outside: bool,
}

impl Trial {
    /// For each window, whether it measures the tested variant.
    pub const fn arms(&self) -> [bool; 4] {
        let outside = !self.baseline_outside;
        [outside, !outside, !outside, outside]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub tested: bool,
    /// Seconds since the run began.
    pub begin_s: f64,
    /// Seconds from the first call's begin to the last call's end, of the longest worker.
    pub seconds: f64,
    /// The same summed over clients; one that waits for its last answer counts longer.
    #[serde(default)]
    pub streams_s: f64,
    pub calls: u64,
    /// Failed calls and wrong answers.
    pub errors: u64,
    pub first_error: Option<String>,
    /// Calls per second, summed over the workers.
    pub rate: f64,
    /// In an open loop, measured from when the call was due.
    pub latency: Histogram,
    /// `None` if the target cannot count page accesses.
    pub lookups: Option<Lookups>,
    #[serde(default)]
    pub proved: Checks,
    /// Share of the workers' time that emulated delays took.
    pub planted: f64,
    pub waited_s: f64,
    pub cpus: CpuSet,
    pub observations: Vec<Observation>,
    pub objection: Option<Reason>,
    /// Disturbance from outside; it drops the block, whatever the block shows.
    pub disturbed: Option<Disturbance>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    pub trial: Trial,
    pub windows: Vec<Window>,
    pub placement: Known<Vec<Locality>>,
}

impl BlockRecord {
    pub fn objection(&self) -> Option<&Reason> {
        self.windows.iter().find_map(|window| window.objection.as_ref())
    }

    pub fn disturbed(&self) -> Option<Disturbance> {
        self.windows.iter().find_map(|window| window.disturbed)
    }

    pub fn end_s(&self) -> f64 {
        self.windows.last().map_or(0.0, |window| window.begin_s + window.seconds)
    }

    /// Rates of the two baseline windows and of the two tested windows.
    pub fn rates(&self) -> Option<([f64; 2], [f64; 2])> {
        self.pairs(|window| Some(window.rate))
    }

    /// The same for any value of a window; `None` if a window lacks it.
    pub fn pairs(&self, of: impl Fn(&Window) -> Option<f64>) -> Option<([f64; 2], [f64; 2])> {
        let of_arm = |tested| -> Option<[f64; 2]> {
            let windows = self.windows.iter().filter(|window| window.tested == tested);
            windows.map(&of).collect::<Option<Vec<_>>>()?.try_into().ok()
        };
        Some((of_arm(false)?, of_arm(true)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_symmetric_and_either_way_round() {
        let trial = |baseline_outside| Trial {
            number: 0,
            phase: Phase::Fresh,
            unit: 0,
            streams: 1,
            binding: 0,
            level: 1,
            baseline_outside,
        };
        assert_eq!(trial(true).arms(), [false, true, true, false]);
        assert_eq!(trial(false).arms(), [true, false, false, true]);
    }
}
