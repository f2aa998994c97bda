//! Progress events, for progress bars and live screens.

use std::time::Duration;

use hopcost_core::{BlockRecord, Estimate};

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Opening {
        probe: &'a str,
        cells: usize,
    },
    Sampled {
        done: f64,
        left: Duration,
    },
    Pilot {
        seconds: f64,
    },
    Block {
        block: &'a BlockRecord,
        /// The first reported point's cost at its last look.
        cost: Option<Estimate>,
        /// A lower bound of the share done.
        done: f64,
        /// An upper bound; an estimate.
        left: Duration,
    },
    Closed,
}

/// Called between samples, never inside one.
pub trait Listener {
    fn hear(&mut self, event: Event<'_>);

    /// Whether a comparison is to end with what it has measured.
    fn has_enough(&self) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct Silent;

impl Listener for Silent {
    fn hear(&mut self, _event: Event<'_>) {}
}
