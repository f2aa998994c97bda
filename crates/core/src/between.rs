//! Two machines side by side, or one on two occasions: what was found on each, and how far apart it is.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::distances::DistanceClass;
use crate::estimate::{Estimate, Unit};
use crate::known::{Known, Reason, as_missing};
use crate::probe::Place;

/// All that can be said of two machines by what was kept of them: `hopcost compare --json` is this value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Between {
    /// Version of this form; grows when a key changes its meaning or goes.
    pub version: u32,
    /// The first.
    pub a: Side,
    /// The second, which is said to be faster or slower.
    pub b: Side,
    /// Was anything planted on both? Then this checks the method, and says nothing of machines.
    pub emulated: bool,
    /// Which is faster and by how much, or that no difference could be told.
    pub found: String,
    /// What explains it, the likeliest first.
    pub explained_by: Vec<String>,
    /// What the two are.
    pub traits: Vec<Trait>,
    pub cells: Vec<CellPair>,
    pub scores: Vec<ScorePair>,
    pub effects: Vec<EffectPair>,
    /// What was not compared, or only one has.
    pub missing: Vec<Lacking>,
    pub notes: Vec<String>,
}

impl Between {
    pub fn likenesses(&self) -> impl Iterator<Item = Likeness> + '_ {
        let cells = self.cells.iter().map(|pair| pair.likeness);
        let scores = self.scores.iter().map(|pair| pair.likeness);
        cells.chain(scores).chain(self.effects.iter().map(|pair| pair.likeness))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    pub name: String,
    pub host: Known<String>,
    pub runs: Vec<SideRun>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideRun {
    pub run: i64,
    pub experiment: String,
    /// When it began, in seconds since 1970.
    pub begun_s: i64,
}

/// Something that machines are told apart by before anything is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trait {
    pub what: &'static str,
    /// The first machine's.
    pub a: Known<String>,
    /// The second's.
    pub b: Known<String>,
    /// Is it known of both, and the same?
    pub same: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Likeness {
    /// They differ by more than what matters, and chance does not explain it.
    Different,
    /// They differ by less than what matters: the whole interval lies there.
    Equivalent,
    /// Neither can be told.
    Inconclusive,
}

impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Different => "DIFFERENT",
            Self::Equivalent => "EQUIVALENT",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellPair {
    pub probe: Cow<'static, str>,
    pub series: String,
    pub row: Place,
    pub column: Place,
    pub class: Known<DistanceClass>,
    pub unit: Unit,
    /// The first machine's.
    pub a: Estimate,
    /// The second's.
    pub b: Estimate,
    /// The second's over the first's.
    pub ratio: Estimate,
    pub likeness: Likeness,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScorePair {
    pub experiment: String,
    /// What it is the figure of, where that is the same on both; otherwise both.
    pub of: String,
    pub unit: Unit,
    /// The first machine's.
    pub a: Estimate,
    /// The second's.
    pub b: Estimate,
    /// The second's over the first's.
    pub ratio: Estimate,
    pub likeness: Likeness,
    /// In what the two runs differ beside the machine.
    pub differ_in: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectPair {
    pub experiment: String,
    pub level: String,
    pub streams: u32,
    /// The first machine's cost, a share of throughput.
    pub a: Estimate,
    /// The second's.
    pub b: Estimate,
    /// How much dearer it is on the second: the difference of the two shares.
    pub dearer: Estimate,
    pub likeness: Likeness,
    /// In what the two runs differ beside the machine.
    pub differ_in: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lacking {
    pub what: String,
    #[serde(flatten, serialize_with = "as_missing")]
    pub missing: Reason,
}
