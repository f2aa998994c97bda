//! What probes came to.

use hopcost_core::{ProbeReport, Published, Reason, as_missing};
use hopcost_sys::journal::Restored;
use serde::Serialize;

/// What a probe measured, and what has been published of the like.
#[derive(Debug, Serialize)]
pub struct ProbeResult {
    #[serde(flatten)]
    pub report: ProbeReport,
    pub published: Vec<&'static Published>,
}

#[derive(Debug, Serialize)]
pub struct NotRun {
    pub probe: &'static str,
    #[serde(flatten, serialize_with = "as_missing")]
    pub missing: Reason,
}

/// What all that were asked for came to.
#[derive(Debug, Default, Serialize)]
pub struct ProbesResult {
    pub probes: Vec<ProbeResult>,
    /// Those that could not run here.
    pub not_run: Vec<NotRun>,
    /// Did one fail?
    #[serde(skip)]
    pub has_failed: bool,
    /// Settings of the machine that were changed for them.
    #[serde(skip)]
    pub restored: Vec<Restored>,
}
