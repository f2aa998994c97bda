//! What a runner tells while it works. Progress bars and live screens only listen.

use std::time::Duration;

use hopcost_core::BlockRecord;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A probe places its memory and starts its threads.
    Opening {
        /// Which.
        probe: &'a str,
        /// How many cells it will measure.
        cells: usize,
    },
    /// A sample was taken.
    Sampled {
        /// The share of the work that is done, 0 to 1.
        done: f64,
        /// What is left, as far as can be told.
        left: Duration,
    },
    /// A pilot finds out how long windows should be.
    Pilot {
        /// Seconds that it takes.
        seconds: f64,
    },
    /// A block is finished, and kept.
    Block {
        /// The block.
        block: &'a BlockRecord,
        /// The share of the work that is done at least, 0 to 1.
        done: f64,
        /// What is left at most, as far as can be told.
        left: Duration,
    },
    /// It is through.
    Closed,
}

/// Someone who listens. Called between samples, never inside one.
pub trait Listener {
    /// Something happened.
    fn hear(&mut self, event: Event<'_>);
}

/// Nobody listens.
#[derive(Debug)]
pub struct Silent;

impl Listener for Silent {
    fn hear(&mut self, _event: Event<'_>) {}
}
