//! What a runner tells while it works. Progress bars and live screens only listen.

use std::time::Duration;

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
    /// The probe is through.
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
