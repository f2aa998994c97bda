//! Conditions that would distort a measurement, and how to fix them.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Good,
    /// Worth knowing; figures stay valid.
    Note,
    /// Figures will be noisier, biased, or of another machine than intended.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub severity: Severity,
    pub seen: String,
    pub why: &'static str,
    pub remedy: Option<String>,
    /// Restores what was seen, or says why nothing has to be restored.
    pub undo: Option<String>,
}
