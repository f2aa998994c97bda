//! Counts of audited calls: was each call logged exactly as often as it should be?

use hopcost_core::Audit;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub statements: u64,
    pub details: u64,
}

impl Written {
    pub fn has_all_of(self, due: Self) -> bool {
        self.statements >= due.statements && self.details >= due.details
    }
}

/// The call count of one audited session.
#[derive(Debug)]
pub struct Account {
    pub audit: Audit,
    calls: u64,
    settled: Written,
}

impl Account {
    pub fn new(audit: Audit) -> Self {
        Self { audit, calls: 0, settled: Written::default() }
    }

    #[inline]
    pub fn called(&mut self) {
        self.calls += 1;
    }

    /// What must be in the log by now.
    pub fn due(&self) -> Written {
        let of = |is_written: bool| if is_written { self.calls } else { 0 };
        Written {
            statements: self.settled.statements + of(self.audit != Audit::Off),
            details: self.settled.details + of(self.audit == Audit::Trace),
        }
    }

    /// `[logged, calls]` since the last time, if the log could not be read: `[0, calls]`.
    pub fn unknown(&mut self) -> [u64; 2] {
        [0, std::mem::take(&mut self.calls)]
    }

    /// `[logged, calls]` since the last time. A call that is missing, logged twice, or should not
    /// be there counts as not logged.
    pub fn settle(&mut self, written: Written) -> [u64; 2] {
        let due = self.due();
        let statements = written.statements.abs_diff(due.statements);
        let wrong = statements.max(written.details.abs_diff(due.details));
        self.settled = written;
        let calls = std::mem::take(&mut self.calls);
        [calls.saturating_sub(wrong), calls]
    }
}
