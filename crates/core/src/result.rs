//! What an experiment found, in the form in which it is kept and printed.

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Unit};
use crate::known::{Known, Reason};
use crate::verdict::Verdict;

/// An experiment's outcome. docs/JSON.md documents its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Version of this form; grows when a key changes its meaning or goes.
    pub version: u32,
    /// The experiment's name.
    pub experiment: String,
    /// What it asked.
    pub question: String,
    /// The database under test.
    pub target: Known<String>,
    /// How it ended.
    pub verdict: Verdict,
    /// Why it ended so.
    pub reason: Reason,
    /// The headline figure.
    pub estimate: Known<Headline>,
    /// What was read back from the machine.
    pub proof: Vec<Proved>,
    /// Was any distance planted? Then this checks the method, and says nothing of the machine.
    pub emulated: bool,
    /// What the planted distance really took, as a share; null where none was.
    pub planted: Option<f64>,
    /// Wall time, preparation included.
    pub seconds: f64,
}

/// The one figure that answers the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// What it is the figure of.
    pub of: String,
    /// Its unit.
    pub unit: Unit,
    /// The figure.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// A claim, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    /// What was claimed.
    pub claim: String,
    /// The least share that was to be found.
    pub least: f64,
    /// The share that was found.
    pub found: f64,
}

impl Proved {
    /// Does it hold?
    pub fn holds(&self) -> bool {
        self.found >= self.least
    }
}
