//! The debt of emulated distance: it grows with each access, and is paid by pauses.
//!
//! Method: a pause is a spin of 1 ms or more. While a thread spins, others take its part of shared
//! caches, so that the accesses after a pause are slower. That is counted, too: all accesses between
//! two pauses, against the later half of them. (A shorter part would be compared by chance: a query also
//! works without an access for a while. The median over stretches would miss that work.)
//! Limits: what has not come back by then is not counted. A part that differs from the other by more
//! than a pause was interrupted by something else: that stretch is not counted.

use std::time::{Duration, Instant};

use hopcost_sys::clock;

/// The debt from which it is paid. Longer pauses would make windows unequal; after shorter ones a
/// larger share of the accesses is slow.
const PAYABLE_NS: f64 = 1e6;
/// Of the accesses between two pauses, the part whose speed is compared with that of the rest.
const LATE: u32 = 2;

#[derive(Default)]
pub struct Debt {
    owed_ns: f64,
    paid: Duration,
    /// May be negative, by chance.
    slower_ns: f64,
    stretch: Option<Stretch>,
    /// Accesses with a cost since the last pause.
    accesses: u32,
    /// The number of early accesses in this stretch, half by the length of the last one.
    early: u32,
}

/// Accesses between two pauses of one window.
struct Stretch {
    begun: Instant,
    early_ns: f64,
}

impl Debt {
    #[inline]
    pub fn add(&mut self, cost_ns: f64) {
        // Nothing is emulated, or the page is near.
        if cost_ns <= 0.0 {
            return;
        }
        self.accesses += 1;
        self.owed_ns += cost_ns;
        if self.accesses == self.early {
            self.end_early();
        }
        if self.owed_ns >= PAYABLE_NS {
            self.pay();
        }
    }

    /// The time that was planted since the last call. What comes next may be much later.
    pub fn take(&mut self) -> Duration {
        self.stretch = None;
        let slower_ns = std::mem::take(&mut self.slower_ns);
        let paid_ns = std::mem::take(&mut self.paid).as_nanos() as f64;
        Duration::from_nanos((paid_ns + slower_ns).max(0.0) as u64)
    }

    #[cold]
    fn end_early(&mut self) {
        if let Some(stretch) = &mut self.stretch {
            stretch.early_ns = stretch.begun.elapsed().as_nanos() as f64;
        }
    }

    #[cold]
    fn pay(&mut self) {
        self.count_slower();
        self.early = self.accesses - self.accesses / LATE;
        self.accesses = 0;
        let paid = clock::spin(Duration::from_nanos(self.owed_ns as u64));
        self.owed_ns -= paid.as_nanos() as f64;
        self.paid += paid;
        self.stretch = Some(Stretch { begun: clock::now(), early_ns: 0.0 });
    }

    fn count_slower(&mut self) {
        let Some(Stretch { begun, early_ns }) = &self.stretch else { return };
        let late_ns = begun.elapsed().as_nanos() as f64 - early_ns;
        let late = self.accesses.saturating_sub(self.early);
        self.slower_ns += slower_ns([*early_ns, late_ns], [self.early, late]).unwrap_or(0.0);
    }
}

/// What the early accesses took beyond what as many late ones take. `None` if too few are late (this
/// stretch was much shorter than the one before), or if either part was interrupted.
fn slower_ns([early_ns, late_ns]: [f64; 2], [early, late]: [u32; 2]) -> Option<f64> {
    let can_be_told = early > 0 && late >= early / (2 * LATE) && early_ns > 0.0;
    let slower_ns = can_be_told.then(|| early_ns - late_ns * f64::from(early) / f64::from(late))?;
    (slower_ns.abs() < PAYABLE_NS).then_some(slower_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_after_a_pause_is_planted_too() {
        let told = |ns, accesses| slower_ns(ns, accesses).map(|ns| ns as i64);
        assert_eq!(told([130_000.0, 120_000.0], [3_000, 3_000]), Some(10_000));
        assert_eq!(told([130_000.0, 10_000.0], [3_000, 200]), None, "too short to tell");
        assert_eq!(told([0.0, 40_000.0], [3_000, 1_000]), None, "the early part was not timed");
        assert_eq!(told([130_000.0, 9_000_000.0], [3_000, 3_000]), None, "interrupted at last");
        assert_eq!(told([9_000_000.0, 120_000.0], [3_000, 3_000]), None, "interrupted at first");
        let mut debt = Debt { slower_ns: 2e6, paid: Duration::from_millis(1), ..Debt::default() };
        assert_eq!(debt.take(), Duration::from_millis(3));
        assert_eq!(debt.take(), Duration::ZERO);
    }

    #[test]
    fn each_pause_begins_a_stretch_and_a_window_ends_it() {
        let mut debt = Debt::default();
        // A pause that was much too long takes more accesses until the next one.
        let pause = |debt: &mut Debt| {
            let paid = debt.paid;
            while debt.paid == paid {
                debt.add(2_000.0);
            }
        };
        pause(&mut debt);
        assert_eq!((debt.accesses, debt.early), (0, 250));
        assert!(debt.paid >= Duration::from_millis(1) && debt.slower_ns.abs() < 1e-9);
        pause(&mut debt);
        assert!(debt.slower_ns.abs() > 0.0);
        assert!(debt.take() > Duration::ZERO && debt.stretch.is_none());
    }

    #[test]
    fn nothing_is_planted_where_accesses_cost_nothing() {
        let mut debt = Debt::default();
        (0..100_000).for_each(|_| debt.add(0.0));
        assert_eq!(debt.take(), Duration::ZERO);
    }
}
