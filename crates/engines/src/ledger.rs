//! The rows of a table that is filled: are those that were asked for there?

use std::sync::atomic::{AtomicU64, Ordering};

/// The rows that were there at the last count, and those asked for since.
#[derive(Debug, Default)]
pub struct Ledger {
    counted: AtomicU64,
    asked: AtomicU64,
}

impl Ledger {
    /// So many rows more are to be there.
    pub fn ask(&self, rows: u64) {
        self.asked.fetch_add(rows, Ordering::Relaxed);
    }

    /// What is there of what was asked for since the last time, as a proof, where so many rows were counted;
    /// nothing of it where they could not be.
    pub fn settle(&self, there: Option<u64>) -> [u64; 2] {
        let asked = self.asked.swap(0, Ordering::Relaxed);
        let Some(there) = there else { return [0, asked] };
        let before = self.counted.swap(there, Ordering::Relaxed);
        rows_counted(there.saturating_sub(before), asked)
    }

    /// The same, and empties a table that holds so many, which may fail.
    pub fn settle_and_empty(
        &self,
        there: Option<u64>,
        most: u64,
        empty: impl FnOnce() -> bool,
    ) -> [u64; 2] {
        let proved = self.settle(there);
        if there.is_some_and(|there| there >= most) && empty() {
            self.emptied();
        }
        proved
    }

    /// The table was emptied.
    pub fn emptied(&self) {
        self.counted.store(0, Ordering::Relaxed);
    }
}

/// Rows that were asked for and are there. What is there too much is as wrong as what is missing.
fn rows_counted(counted: u64, asked: u64) -> [u64; 2] {
    [asked.saturating_sub(asked.abs_diff(counted)), asked]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_too_many_are_as_wrong_as_rows_too_few() {
        assert_eq!(
            [7, 6, 8, 40].map(|counted| rows_counted(counted, 7)),
            [[7, 7], [6, 7], [6, 7], [0, 7]]
        );
    }

    #[test]
    fn each_row_is_settled_once() {
        let ledger = Ledger::default();
        ledger.ask(5);
        ledger.ask(2);
        assert_eq!(ledger.settle(Some(7)), [7, 7]);
        ledger.ask(3);
        assert_eq!(ledger.settle(Some(9)), [2, 3]);
        ledger.emptied();
        ledger.ask(4);
        assert_eq!(ledger.settle(Some(4)), [4, 4]);
        ledger.ask(1);
        assert_eq!(ledger.settle(None), [0, 1]);
    }
}
