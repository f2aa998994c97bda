//! Comparison of two machines, or of one machine at two times.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::distances::DistanceClass;
use crate::estimate::{Estimate, Unit};
use crate::known::{Known, Reason, as_missing};
use crate::probe::Place;

/// The value of `hopcost compare --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Between {
    pub version: u32,
    pub a: Side,
    pub b: Side,
    pub emulated: bool,
    pub found: String,
    /// Likeliest first.
    pub explained_by: Vec<String>,
    pub traits: Vec<Trait>,
    pub cells: Vec<CellPair>,
    pub scores: Vec<ScorePair>,
    pub effects: Vec<EffectPair>,
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
    pub begun_s: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trait {
    pub what: &'static str,
    pub a: Known<String>,
    pub b: Known<String>,
    pub same: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Likeness {
    /// The difference exceeds the margin, and chance does not explain it.
    Different,
    /// The whole interval is within the margin.
    Equivalent,
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
    pub a: Estimate,
    pub b: Estimate,
    /// b / a.
    pub ratio: Estimate,
    pub likeness: Likeness,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScorePair {
    pub experiment: String,
    /// What the figure measures; both names if the sides differ.
    pub of: String,
    pub unit: Unit,
    pub a: Estimate,
    pub b: Estimate,
    /// b / a.
    pub ratio: Estimate,
    pub likeness: Likeness,
    pub differ_in: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectPair {
    pub experiment: String,
    pub level: String,
    pub streams: u32,
    pub a: Estimate,
    pub b: Estimate,
    /// Cost on b minus cost on a.
    pub dearer: Estimate,
    pub likeness: Likeness,
    pub differ_in: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lacking {
    pub what: String,
    #[serde(flatten, serialize_with = "as_missing")]
    pub missing: Reason,
}
