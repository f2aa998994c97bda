//! Verdicts of experiments.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The tested variant is slower: the interval excludes zero.
    Cost,
    Gain,
    /// Any difference is smaller than the declared margin.
    Equivalent,
    /// The budget was spent before the interval was narrow enough.
    Inconclusive,
    Measured,
    /// There are figures, but their preconditions did not hold.
    Refused,
    /// This machine or target cannot express the question.
    NotApplicable,
    /// Other processes interfered, so nothing was found; a retry may succeed.
    Disturbed,
}

impl Verdict {
    pub const fn is_without_figures(self) -> bool {
        matches!(self, Self::Refused | Self::NotApplicable | Self::Disturbed)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cost => "COST",
            Self::Gain => "GAIN",
            Self::Equivalent => "EQUIVALENT",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Measured => "MEASURED",
            Self::Refused => "REFUSED",
            Self::NotApplicable => "NOT_APPLICABLE",
            Self::Disturbed => "DISTURBED",
        })
    }
}
