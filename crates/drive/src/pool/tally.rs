//! What one thread did in a window.

use std::time::Duration;

use hopcost_core::{CpuId, Disturbance, Histogram, Reason};

/// A call that was kept. Times are from the start of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCall {
    pub stream: u32,
    pub due_ns: u64,
    pub sent_ns: u64,
    pub done_ns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Those that count.
    pub calls: u64,
    /// Counted calls that failed or came back wrong.
    pub errors: u64,
    pub first_error: Option<String>,
    /// Counted calls that the database refused.
    pub refused: u64,
    /// Why the connection is gone.
    pub lost: Option<String>,
    /// Counted calls per second.
    pub rate: f64,
    /// From the begin of the first counted call to the end of the last one, without the time in which answers
    /// were checked.
    pub seconds: f64,
    /// The same, summed over streams.
    pub streams_s: f64,
    /// From when calls were due.
    pub latency: Histogram,
    /// For calls to be due.
    pub waited_s: f64,
    /// By how much counted calls were made longer, for what works beside the thread.
    pub planted: Duration,
    /// Empty unless calls are kept.
    pub raw: Vec<RawCall>,
    /// Where the thread was seen, before and after.
    pub cpus: Vec<CpuId>,
    /// Why the thread's place voids the window.
    pub objection: Option<Reason>,
    /// From outside.
    pub disturbed: Option<Disturbance>,
}

impl Tally {
    /// The database refused a call.
    pub(super) fn refuse(&mut self, words: String, counts: bool) {
        self.refused += u64::from(counts);
        self.fail(words);
    }

    pub(super) fn fail(&mut self, words: String) {
        self.errors += 1;
        self.first_error.get_or_insert(words);
    }
}
