//! What is kept of a comparison: blocks of four windows, each with all that was read beside it.
//!
//! A verdict is a pure function of these records, so a run that was killed goes on from the last one,
//! and a report never measures.

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
    /// Looks for the worst of a sweep; never part of an estimate.
    Search,
    /// Makes the estimate.
    Fresh,
    /// Compares the baseline with itself: it must find nothing.
    Placebo,
    /// One long block: does the effect last?
    Long,
}

/// Where the symbols of an experiment stand in one way of binding them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The node that each letter stands for.
    pub nodes: BTreeMap<char, NodeId>,
    /// Where a level leaves threads or cores unused: does it take the last ones, and leave the first?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turned: bool,
}

/// What a block is to measure: decided before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    pub number: u64,
    pub phase: Phase,
    /// Its unit within the phase: one block of each binding, of everything compared.
    pub unit: u64,
    pub streams: u32,
    pub binding: usize,
    /// The level under test, by position. Level 0 is the baseline: tested against itself.
    pub level: usize,
    /// Does the baseline come first and last (A B B A), or in the middle (B A A B)?
    pub baseline_outside: bool,
}

impl Trial {
    /// The arms of its windows: true where the level under test is measured.
    pub const fn arms(&self) -> [bool; 4] {
        let outside = !self.baseline_outside;
        [outside, !outside, !outside, outside]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Is it one of the level under test?
    pub tested: bool,
    /// Seconds from the run's begin to the window's.
    pub begin_s: f64,
    /// Seconds from its first call's begin to its last call's end, of the longest worker.
    pub seconds: f64,
    /// The same of each stream, summed: one that waits for its last answer counts longer than the others.
    #[serde(default)]
    pub streams_s: f64,
    pub calls: u64,
    /// Calls of them that failed, or came back with a wrong answer.
    pub errors: u64,
    /// The first of them, in words.
    pub first_error: Option<String>,
    /// Calls per second, summed over the workers.
    pub rate: f64,
    /// How long they took; in an open loop from the moment at which they should have begun.
    pub latency: Histogram,
    /// What was looked up; none where the target cannot tell.
    pub lookups: Option<Lookups>,
    #[serde(default)]
    pub proved: Checks,
    /// The share of the workers' time that planted distance really took.
    pub planted: f64,
    /// Seconds that the workers spent waiting for their next call to be due.
    pub waited_s: f64,
    /// The CPUs that the workers were seen on, before and after.
    pub cpus: CpuSet,
    pub observations: Vec<Observation>,
    /// Why it voids the run, if it does: something was not where it was put.
    pub objection: Option<Reason>,
    /// What disturbed it from outside, if anything did: its block is dropped, whatever it shows.
    pub disturbed: Option<Disturbance>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    pub trial: Trial,
    pub windows: Vec<Window>,
    /// Where the data was at its end, home by home.
    pub placement: Known<Vec<Locality>>,
}

impl BlockRecord {
    pub fn objection(&self) -> Option<&Reason> {
        self.windows.iter().find_map(|window| window.objection.as_ref())
    }

    pub fn disturbed(&self) -> Option<Disturbance> {
        self.windows.iter().find_map(|window| window.disturbed)
    }

    /// When it ended, in seconds of its run.
    pub fn end_s(&self) -> f64 {
        self.windows.last().map_or(0.0, |window| window.begin_s + window.seconds)
    }

    /// The rates of the baseline's two windows, and of the other two.
    pub fn rates(&self) -> Option<([f64; 2], [f64; 2])> {
        self.pairs(|window| Some(window.rate))
    }

    /// The same of anything that windows have; none where one of them has it not.
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
