//! The contract between what watches a run from the side and whoever runs it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::gauge::Gauge;
use crate::known::Reason;
use crate::machine::Machine;

/// What is watched.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The machine as it is.
    pub machine: &'a Machine,
    /// The kernel's numbers of the threads that work on requests.
    pub workers: &'a [u32],
}

/// One number that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What it is.
    pub gauge: &'static Gauge,
    /// Of what: `cpu 3`, `node 0`; empty for the whole machine.
    pub of: String,
    /// The number.
    pub value: f64,
}

/// What was observed over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What it is, its unit last.
    pub metric: Cow<'static, str>,
    /// Of what; empty for the whole machine.
    pub of: String,
    /// The number.
    pub value: f64,
}

impl Observation {
    /// Is it one of these?
    pub fn is(&self, gauge: &Gauge) -> bool {
        self.metric == gauge.name
    }
}

/// Something that watches. A new one is one file in `host`.
pub trait Observer: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it sees, in one line.
    fn about(&self) -> &'static str;

    /// Begins to watch, or says why it cannot here.
    fn open(&self, scope: &Scope<'_>) -> Result<Box<dyn Watching>, Reason>;
}

/// An observer that has been opened.
pub trait Watching {
    /// Everything as it stands now. Called right before and right after a window, never inside one.
    fn read(&mut self) -> Vec<Reading>;
}
