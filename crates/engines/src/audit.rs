//! Calls, and what was written down of them: each as it should be, once?

use hopcost_core::Audit;

/// What somebody has written down, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub statements: u64,
    /// How statements were done.
    pub details: u64,
}

impl Written {
    /// Is all of this there?
    pub fn has_all_of(self, due: Self) -> bool {
        self.statements >= due.statements && self.details >= due.details
    }
}

/// The calls of a session whose statements are written down, or are not.
#[derive(Debug)]
pub struct Account {
    /// What was asked for.
    pub audit: Audit,
    calls: u64,
    settled: Written,
}

impl Account {
    /// Of a session that begins.
    pub fn new(audit: Audit) -> Self {
        Self { audit, calls: 0, settled: Written::default() }
    }

    /// One more was asked.
    #[inline]
    pub fn called(&mut self) {
        self.calls += 1;
    }

    /// What has to have been written by now.
    pub fn due(&self) -> Written {
        let of = |is_written: bool| if is_written { self.calls } else { 0 };
        Written {
            statements: self.settled.statements + of(self.audit != Audit::Off),
            details: self.settled.details + of(self.audit == Audit::Trace),
        }
    }

    /// Of the calls since the last time, when nobody knows what was written: none.
    pub fn unknown(&mut self) -> [u64; 2] {
        [0, std::mem::take(&mut self.calls)]
    }

    /// Of the calls since the last time: how many were written down as they should have been. One that is
    /// missing, is there twice, or should not be there, is one that was not.
    pub fn settle(&mut self, written: Written) -> [u64; 2] {
        let due = self.due();
        let statements = written.statements.abs_diff(due.statements);
        let wrong = statements.max(written.details.abs_diff(due.details));
        self.settled = written;
        let calls = std::mem::take(&mut self.calls);
        [calls.saturating_sub(wrong), calls]
    }
}
