//! The contract between what watches a run from the side and whoever runs it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::gauge::Gauge;
use crate::known::Reason;
use crate::machine::Machine;

#[derive(Clone, Debug)]
pub struct Scope<'a> {
    pub machine: &'a Machine,
    /// The kernel's numbers of the threads that work on requests.
    pub workers: &'a [u32],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub gauge: &'static Gauge,
    /// Of what: `cpu 3`, `node 0`; empty for the whole machine.
    pub of: String,
    /// The number.
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What it is, its unit last.
    pub metric: Cow<'static, str>,
    /// Of what; empty for the whole machine.
    pub of: String,
    pub value: f64,
}

impl Observation {
    pub fn is(&self, gauge: &Gauge) -> bool {
        self.metric == gauge.name
    }
}

/// Something that watches. A new one is one file in `host`.
pub trait Observer: Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    fn open(&self, scope: &Scope<'_>) -> Result<Box<dyn Watching>, Reason>;
}

pub trait Watching {
    /// Everything as it stands now. Called right before and right after a window, never inside one.
    fn read(&mut self) -> Vec<Reading>;
}
