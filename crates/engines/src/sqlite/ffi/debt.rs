//! The debt of emulated distance: it grows with each access.
//!
//! Method: a session pays by asking earlier requests again, whose answers and accesses do not count
//! (`session.rs`). So caches are used as they are without a debt. During calls that are too long to be
//! asked again, pauses pay: spins of some 3 ms. While a thread spins, others take its part of shared
//! caches, and the accesses after a pause are slower, which nobody counts. (Of 16% in pauses of 1 ms,
//! 5% more were found on a host whose caches others used; of pauses of 50 µs, 1% more on a quiet one.)

use std::time::Duration;

use hopcost_sys::clock;

/// The debt that a pause pays. Longer pauses would make windows unequal.
const PAYABLE_NS: f64 = 3e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaidBy {
    Pauses,
    Repetitions,
}

#[derive(Default)]
pub struct Debt {
    /// Negative after a repetition that took longer than due.
    owed_ns: f64,
    paused: Duration,
    /// `None` if nothing is emulated.
    pub by: Option<PaidBy>,
}

impl Debt {
    /// Near accesses, which cost nothing, take as long as far ones.
    #[inline]
    pub fn add(&mut self, cost_ns: f64) {
        let Some(by) = self.by else { return };
        self.owed_ns += cost_ns;
        if by == PaidBy::Pauses && self.owed_ns >= PAYABLE_NS {
            self.pause();
        }
    }

    pub fn owed(&self) -> Duration {
        Duration::from_nanos(self.owed_ns.max(0.0) as u64)
    }

    pub fn pay(&mut self, paid: Duration) {
        self.owed_ns -= paid.as_nanos() as f64;
    }

    /// Pauses since the last call.
    pub fn take(&mut self) -> Duration {
        std::mem::take(&mut self.paused)
    }

    #[cold]
    fn pause(&mut self) {
        let paused = clock::spin(Duration::from_nanos(self.owed_ns as u64));
        self.pay(paused);
        self.paused += paused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paid_by(by: PaidBy) -> Debt {
        Debt { by: Some(by), ..Debt::default() }
    }

    #[test]
    fn a_pause_pays_what_is_owed() {
        let mut debt = paid_by(PaidBy::Pauses);
        (0..999).for_each(|_| debt.add(3_000.0));
        assert_eq!((debt.take(), debt.owed()), (Duration::ZERO, Duration::from_micros(2_997)));
        debt.add(4_000.0);
        assert!(debt.take() >= Duration::from_millis(3) && debt.owed() == Duration::ZERO);
    }

    #[test]
    fn without_pauses_it_grows_until_it_is_paid() {
        let mut debt = paid_by(PaidBy::Repetitions);
        (0..2_000).for_each(|_| debt.add(3_000.0));
        assert_eq!(debt.owed(), Duration::from_millis(6));
        debt.pay(Duration::from_millis(7));
        assert_eq!(
            (debt.owed(), debt.take()),
            (Duration::ZERO, Duration::ZERO),
            "it did not pause"
        );
        (0..500).for_each(|_| debt.add(3_000.0));
        assert_eq!(debt.owed(), Duration::from_micros(500), "1 ms was paid in advance");
    }

    #[test]
    fn nothing_is_planted_where_accesses_cost_nothing() {
        let mut debt = paid_by(PaidBy::Pauses);
        (0..100_000).for_each(|_| debt.add(0.0));
        assert_eq!(debt.take(), Duration::ZERO);
        let mut none = Debt::default();
        (0..100_000).for_each(|_| none.add(3_000.0));
        assert_eq!((none.take(), none.owed()), (Duration::ZERO, Duration::ZERO));
    }
}
