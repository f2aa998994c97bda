//! The input and output types of a store.

use std::collections::BTreeMap;

use hopcost_core::{BlockRecord, Effort, ExperimentResult, Known, Machine, ProbeReport};

use crate::digest::{Key, key};

#[derive(Debug)]
pub struct NewRun<'a> {
    pub experiment: &'a str,
    pub question: &'a str,
    /// `None` for a hardware experiment.
    pub target: Option<&'a str>,
    pub effort: Effort,
    pub seed: u64,
    pub machine: &'a Machine,
    /// Nanoseconds since 1970.
    pub begun_ns: u64,
    /// Must be equal for a run to resume this one; `None` for a hardware experiment.
    pub identity: Option<&'a str>,
    /// `None` without a machine id.
    pub host_key: Option<Key>,
    pub boot_id: &'a str,
    /// Possible causes of differences that are not in the machine document.
    pub traits: &'a BTreeMap<String, Known<String>>,
}

impl NewRun<'_> {
    /// Unique among the runs of all hosts.
    pub(crate) fn uid(&self) -> Key {
        key(&[
            b"hopcost run 1",
            self.host_key.as_ref().map_or(&[][..], |key| key),
            self.boot_id.as_bytes(),
            &self.begun_ns.to_be_bytes(),
            self.experiment.as_bytes(),
            self.identity.unwrap_or_default().as_bytes(),
            &self.seed.to_be_bytes(),
        ])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCall {
    /// The window's index in the block.
    pub place: usize,
    pub stream: u32,
    /// From the window's start.
    pub due_sent_done_ns: [u64; 3],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub id: i64,
    pub experiment: String,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// `None` if the run is unfinished.
    pub verdict: Option<String>,
    /// `None` for a hardware experiment.
    pub target: Option<String>,
    /// Names for which it is the baseline.
    pub baselines: Vec<String>,
}

#[derive(Debug)]
pub struct Kept {
    pub id: i64,
    /// `None` if the run is unfinished.
    pub result: Option<ExperimentResult>,
    pub reports: Vec<ProbeReport>,
    /// Finished ones.
    pub blocks: u64,
    pub failure: Option<String>,
}

#[derive(Debug)]
pub struct Baseline {
    pub run: i64,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// Must be equal for a run to be compared with this one.
    pub identity: String,
    /// JSON.
    pub machine: String,
    pub hopcost_version: String,
    pub result: ExperimentResult,
}

#[derive(Debug)]
pub struct Unfinished<T> {
    pub id: i64,
    pub preparation: Option<T>,
    pub blocks: Vec<BlockRecord>,
}

#[derive(Debug)]
pub struct Whose {
    /// `None` for a run of an older version.
    pub host_key: Option<Key>,
    pub host: Option<String>,
    /// JSON.
    pub machine: String,
}

#[derive(Debug)]
pub enum Resumable<T> {
    /// Finished, or there is none.
    None,
    Here(Unfinished<T>),
    /// Number and host.
    Elsewhere(i64, Option<String>),
}

/// One figure of one occasion.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptFigure {
    pub figure: String,
    /// Of a score's run; `None` for a probe.
    pub identity: Option<String>,
    pub point: f64,
}
