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
    Note(String, Option<Fix>),
    Warning(String, Fix),
}

pub(super) struct Fix {
    pub(super) remedy: String,
    pub(super) undo: String,
}

impl Check {
    pub fn examine(&self, surroundings: &Surroundings<'_>) -> Finding {
        let (severity, seen, fix) = match (self.look)(surroundings) {
            Seen::Good(seen) => (Severity::Good, seen, None),
            Seen::Note(seen, fix) => (Severity::Note, seen, fix),
            Seen::Warning(seen, fix) => (Severity::Warning, seen, Some(fix)),
        };
        let (remedy, undo) = fix.map(|fix| (fix.remedy, fix.undo)).unzip();
        Finding { check: self.name, severity, seen, why: self.why, remedy, undo }
    }
}

impl Seen {
    pub(super) fn good(seen: impl Into<String>) -> Self {
        Self::Good(seen.into())
    }

    pub(super) fn note(seen: impl Into<String>) -> Self {
        Self::Note(seen.into(), None)
    }

    pub(super) fn fixable(seen: impl Into<String>, fix: Fix) -> Self {
        Self::Note(seen.into(), Some(fix))
    }

    pub(super) fn warning(seen: impl Into<String>, fix: Fix) -> Self {
        Self::Warning(seen.into(), fix)
    }
}

impl Fix {
    /// `undo` restores the value that was seen.
    pub(super) fn new(remedy: impl Into<String>, undo: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), undo: undo.into() }
    }

    /// A step that leaves nothing to restore, and why.
    pub(super) fn without_undo(remedy: impl Into<String>, because: &str) -> Self {
        Self::new(remedy, format!("nothing to undo: {because}"))
    }
}
