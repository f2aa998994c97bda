//! A check, its inputs and its finding.

use hopcost_core::{Finding, Known, Machine, Severity};
use hopcost_sys::Root;
use hopcost_sys::activity::Activity;

#[derive(Debug)]
pub struct Surroundings<'a> {
    pub root: &'a Root,
    pub machine: &'a Machine,
    /// The second before the checks.
    pub activity: Known<Activity>,
}

#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    pub why: &'static str,
    pub(super) look: fn(&Surroundings<'_>) -> Seen,
}

pub(super) enum Seen {
    Good(String),
    Note(String, Option<String>),
    Warning(String, String),
}

impl Check {
    pub fn examine(&self, surroundings: &Surroundings<'_>) -> Finding {
        let (severity, seen, remedy) = match (self.look)(surroundings) {
            Seen::Good(seen) => (Severity::Good, seen, None),
            Seen::Note(seen, remedy) => (Severity::Note, seen, remedy),
            Seen::Warning(seen, remedy) => (Severity::Warning, seen, Some(remedy)),
        };
        Finding { check: self.name, severity, seen, why: self.why, remedy }
    }
}

impl Seen {
    pub(super) fn good(seen: impl Into<String>) -> Self {
        Self::Good(seen.into())
    }

    pub(super) fn note(seen: impl Into<String>) -> Self {
        Self::Note(seen.into(), None)
    }

    pub(super) fn warning(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Warning(seen.into(), remedy.into())
    }
}
