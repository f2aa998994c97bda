//! Results of probes.

use hopcost_core::{ProbeReport, Published, Reason, as_missing};
use hopcost_sys::journal::Restored;
use serde::Serialize;

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

#[derive(Debug, Default, Serialize)]
pub struct ProbesResult {
    pub probes: Vec<ProbeResult>,
    pub not_run: Vec<NotRun>,
    #[serde(skip)]
    pub has_failed: bool,
    #[serde(skip)]
    pub restored: Vec<Restored>,
}
