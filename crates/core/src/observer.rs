//! Interface between observers of a run and its driver.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::gauge::Gauge;
use crate::known::Reason;
use crate::machine::Machine;

#[derive(Clone, Debug)]
pub struct Scope<'a> {
    pub machine: &'a Machine,
    pub workers: &'a [u32],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub gauge: &'static Gauge,
    /// `cpu 3`, `node 0`; empty for the whole machine.
    pub of: String,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Ends with its unit.
    pub metric: Cow<'static, str>,
    pub of: String,
    pub value: f64,
}

impl Observation {
    pub fn is(&self, gauge: &Gauge) -> bool {
        self.metric == gauge.name
    }
}

/// To add one, add one file to `host`.
pub trait Observer: Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    fn open(&self, scope: &Scope<'_>) -> Result<Box<dyn Watching>, Reason>;
}

pub trait Watching {
    /// Current values. Called right before and right after a window, never inside one.
    fn read(&mut self) -> Vec<Reading>;
}
