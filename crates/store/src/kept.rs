//! What is put into a store, and what comes out of it.

use std::collections::BTreeMap;

use hopcost_core::{BlockRecord, Effort, ExperimentResult, Known, Machine, ProbeReport};

use crate::digest::{Key, key};

#[derive(Debug)]
pub struct NewRun<'a> {
    pub experiment: &'a str,
    pub question: &'a str,
    /// The database under test, if there is one.
    pub target: Option<&'a str>,
    pub effort: Effort,
    pub seed: u64,
    pub machine: &'a Machine,
    /// Nanoseconds since 1970.
    pub begun_ns: u64,
    /// What has to be equal if another run is to resume this one; none of a run on the hardware.
    pub identity: Option<&'a str>,
    /// None if nothing tells the host from others.
    pub host_key: Option<Key>,
    pub boot_id: &'a str,
    /// What may explain figures and is in no machine document.
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

/// One call, which only `--raw-calls` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCall {
    /// Its window: the place in the block.
    pub place: usize,
    pub stream: u32,
    /// From the window's start.
    pub due_sent_done_ns: [u64; 3],
}

/// A run as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub id: i64,
    pub experiment: String,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// None if the run was not finished.
    pub verdict: Option<String>,
}

#[derive(Debug)]
pub struct Kept {
    pub id: i64,
    /// None if the run was not finished.
    pub result: Option<ExperimentResult>,
    pub reports: Vec<ProbeReport>,
    /// The number of finished ones.
    pub blocks: u64,
    /// Why it ended without a result, if it did.
    pub failure: Option<String>,
}

#[derive(Debug)]
pub struct Baseline {
    pub run: i64,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// What has to be equal if another run is to be compared with it.
    pub identity: String,
    /// As JSON.
    pub machine: String,
    pub hopcost_version: String,
    pub result: ExperimentResult,
}

#[derive(Debug)]
pub struct Unfinished<T> {
    pub id: i64,
    /// What was decided before the first block; none if it never came so far.
    pub preparation: Option<T>,
    pub blocks: Vec<BlockRecord>,
}

/// Where a run was begun, as far as its store knows.
#[derive(Debug)]
pub struct Whose {
    /// None of a run that is older than these keys.
    pub host_key: Option<Key>,
    pub host: Option<String>,
    /// As JSON.
    pub machine: String,
}

/// A run that can be resumed.
#[derive(Debug)]
pub enum Resumable<T> {
    /// The latest run of this kind here was finished, or there is none.
    None,
    Here(Unfinished<T>),
    /// Another host has begun it: its number, and the name of that host.
    Elsewhere(i64, Option<String>),
}
