//! What a runner tells while it works. Progress bars and live screens only listen.

use std::time::Duration;

use hopcost_core::BlockRecord;

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A probe places its memory and starts its threads.
    Opening {
        probe: &'a str,
        /// Cells that it will measure.
        cells: usize,
    },
    Sampled {
        /// The share of the work that is done.
        done: f64,
        /// A guess.
        left: Duration,
    },
    /// A pilot finds out how long windows should be.
    Pilot {
        seconds: f64,
    },
    /// A block is finished, and kept.
    Block {
        block: &'a BlockRecord,
        /// The least share of the work that is done.
        done: f64,
        /// At most; a guess.
        left: Duration,
    },
    Closed,
}

/// Is called between samples, never inside one.
pub trait Listener {
    fn hear(&mut self, event: Event<'_>);
}

/// A listener that does nothing.
#[derive(Debug)]
pub struct Silent;

impl Listener for Silent {
    fn hear(&mut self, _event: Event<'_>) {}
}
