//! The results of one thread in a window.

use std::time::Duration;

use hopcost_core::{CpuId, Disturbance, Histogram, Reason};

/// Times from the start of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCall {
    pub stream: u32,
    pub due_ns: u64,
    pub sent_ns: u64,
    pub done_ns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub calls: u64,
    pub errors: u64,
    pub first_error: Option<String>,
    pub refused: u64,
    pub lost: Option<String>,
    pub rate: f64,
    /// Without answer checks.
    pub seconds: f64,
    /// Summed over clients.
    pub streams_s: f64,
    /// From the due times.
    pub latency: Histogram,
    /// Idle time until calls were due.
    pub waited_s: f64,
    /// Of counted calls.
    pub planted: Duration,
    pub raw: Vec<RawCall>,
    /// Seen before and after the window.
    pub cpus: Vec<CpuId>,
    pub objection: Option<Reason>,
    pub disturbed: Option<Disturbance>,
}

impl Tally {
    pub(super) fn refuse(&mut self, words: String, counts: bool) {
        self.refused += u64::from(counts);
        self.fail(words);
    }

    pub(super) fn fail(&mut self, words: String) {
        self.errors += 1;
        self.first_error.get_or_insert(words);
    }
}
