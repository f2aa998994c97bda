//! What a runner tells while it works. Progress bars and live screens only listen.

use std::time::Duration;

use hopcost_core::BlockRecord;

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Opening {
        probe: &'a str,
        /// Cells that it will measure.
        cells: usize,
    },
    Sampled {
        /// The share of the work that is done.
        done: f64,
        left: Duration,
    },
    Pilot {
        seconds: f64,
    },
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

#[derive(Debug)]
pub struct Silent;

impl Listener for Silent {
    fn hear(&mut self, _event: Event<'_>) {}
}
