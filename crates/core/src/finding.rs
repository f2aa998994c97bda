//! What would spoil a measurement, and what mends it.

use std::fmt;

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing; figures stay valid.
    Note,
    /// Figures will be noisier, biased, or of another machine than the one meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Warning => "warning",
        })
    }
}

/// One thing the doctor looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name, such as `governor`.
    pub check: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen.
    pub seen: String,
    /// Why it matters to a measurement.
    pub why: &'static str,
    /// The command or step that mends it; none where nothing needs mending.
    pub remedy: Option<String>,
}
