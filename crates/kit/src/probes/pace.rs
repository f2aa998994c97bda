//! Batches long enough to be timed.

use std::time::Duration;

/// Grows or shrinks a count of operations until a batch of them takes about a given time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations of the next batch.
    pub operations: usize,
    target: Duration,
    least: usize,
}

impl Pace {
    /// Begins with `least` operations, and never takes fewer.
    pub fn new(target: Duration, least: usize) -> Self {
        Self { operations: least, target, least }
    }

    /// Adapts to how long the last batch took. True when that batch was long enough to count: at
    /// least five sixths of the target.
    pub fn adapt(&mut self, took: Duration) -> bool {
        let factor = self.target.as_secs_f64() / took.as_secs_f64().max(1e-9);
        // Never more than tenfold at a time: the first batch also warms things up.
        let operations = (self.operations as f64 * factor.min(10.0)) as usize;
        self.operations = operations.max(self.least).next_multiple_of(self.least);
        took * 6 >= self.target * 5
    }
}
