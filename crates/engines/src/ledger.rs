//! Checks a filled table: are the rows that were asked for there?

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Ledger {
    counted: AtomicU64,
    asked: AtomicU64,
}

impl Ledger {
    pub fn ask(&self, rows: u64) {
        self.asked.fetch_add(rows, Ordering::Relaxed);
    }

    /// `[rows there, rows asked for]` since the last time. `there` is the table's row count; `None`
    /// if it could not be counted, and then no row counts as there.
    pub fn settle(&self, there: Option<u64>) -> [u64; 2] {
        let asked = self.asked.swap(0, Ordering::Relaxed);
        let Some(there) = there else { return [0, asked] };
        let before = self.counted.swap(there, Ordering::Relaxed);
        rows_counted(there.saturating_sub(before), asked)
    }

    /// The same, then runs `empty`, which may fail, if the table holds `most` rows or more.
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

    pub fn emptied(&self) {
        self.counted.store(0, Ordering::Relaxed);
    }
}

/// A row too many counts as one that is missing.
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
