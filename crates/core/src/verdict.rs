//! What an experiment ends in.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The level under test is slower: the interval excludes zero.
    Cost,
    /// It is faster.
    Gain,
    /// Any difference is smaller than what was declared to matter.
    Equivalent,
    /// The budget was spent before the interval could tell.
    Inconclusive,
    /// A figure with its interval; there was nothing to compare it with.
    Measured,
    /// There are figures, but what they rest on did not hold.
    Refused,
    /// This machine or target cannot express the question.
    NotApplicable,
    /// Others were at work, so that nothing could be found: it may go well later.
    Disturbed,
}

impl Verdict {
    /// Did it end without a figure that counts?
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
