//! Batches long enough to be timed.

use std::time::Duration;

/// Finds the number of operations that takes about a given time, then keeps it. After that every
/// batch counts. To keep adapting and accept only long batches would drop the fast ones that follow
/// a slow one.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub operations: usize,
    target: Duration,
    least: usize,
    found: bool,
}

impl Pace {
    pub fn new(target: Duration, least: usize) -> Self {
        Self { operations: least, target, least, found: false }
    }

    /// False until the pace is found.
    pub fn counts(&mut self, took: Duration) -> bool {
        if self.found {
            return true;
        }
        self.found = took * 6 >= self.target * 5;
        let factor = self.target.as_secs_f64() / took.as_secs_f64().max(1e-9);
        // At most tenfold at a time, because the first batch also warms up.
        let operations = (self.operations as f64 * factor.min(10.0)) as usize;
        self.operations = operations.max(self.least).next_multiple_of(self.least);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_found_no_batch_is_judged_by_its_time() {
        let mut pace = Pace::new(Duration::from_millis(10), 64);
        let took = |pace: &Pace| Duration::from_micros(pace.operations as u64);
        while !pace.counts(took(&pace)) {
            assert!(pace.operations <= 20_000, "{}", pace.operations);
        }
        let operations = pace.operations;
        assert!((9_000..11_000).contains(&operations), "{operations}");
        for milliseconds in [100, 1, 10] {
            assert!(pace.counts(Duration::from_millis(milliseconds)));
            assert_eq!(pace.operations, operations);
        }
    }
}
