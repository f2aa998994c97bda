//! What the server writes down of each statement, and whether that is all of them, each once.
//!
//! Method: the tier is a setting of each session, so that all of them work on one server. `statements` is
//! `log_statement = all`; `trace` has the plan that was executed, with rows and times, written down as well, by
//! `auto_explain`. The server's processes write to its log themselves. After each window the log is read on
//! from where the last reading ended: each line begins with the process that wrote it, so that a session's lines
//! can be counted against its calls.
//!
//! Limits: a server of our own; statements and no scripts, of whose commands nobody counts how many were sent.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopcost_core::Audit;
use hopcost_sys::clock;

use super::super::audit::{Account, Written};

/// What a session says to have its statements written down.
pub fn settings(audit: Audit) -> &'static str {
    match audit {
        Audit::Off => "SET log_statement = 'none'",
        Audit::Statements => "SET log_statement = 'all'",
        Audit::Trace => {
            "LOAD 'auto_explain'; SET log_statement = 'all'; SET auto_explain.log_min_duration = 0; \
             SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on"
        }
    }
}

/// A session whose statements are written down, or are not.
pub struct Audited {
    account: Account,
    trail: Arc<Trail>,
    /// The process that writes.
    pid: u32,
}

impl Audited {
    /// The session of a process.
    pub fn new(audit: Audit, trail: &Arc<Trail>, pid: u32) -> Self {
        Self { account: Account::new(audit), trail: Arc::clone(trail), pid }
    }

    /// One more was asked.
    #[inline]
    pub fn called(&mut self) {
        self.account.called();
    }

    /// Of the calls since the last time: how many were written down as they should have been.
    pub fn counted(&mut self) -> [u64; 2] {
        let written = self.trail.written(self.pid, self.account.due());
        self.account.settle(written)
    }
}

/// A server's log.
pub struct Trail(Mutex<Reader>);

struct Reader {
    log: File,
    /// A line that has no end yet.
    rest: Vec<u8>,
    writers: BTreeMap<u32, Writer>,
}

/// A process that writes.
#[derive(Clone, Copy, Default)]
struct Writer {
    written: Written,
    /// Was a call the last thing that it wrote of? Else it was something that hopcost asked besides.
    is_at_a_call: bool,
}

/// What is written at the end of a window may be on its way.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

impl Trail {
    /// Of what a server writes into a file.
    pub fn open(log: &Path) -> io::Result<Self> {
        let log = File::open(log)?;
        Ok(Self(Mutex::new(Reader { log, rest: Vec::new(), writers: BTreeMap::new() })))
    }

    /// What a process has written in all; what should be there is waited for.
    fn written(&self, pid: u32, due: Written) -> Written {
        let begun = clock::now();
        loop {
            let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // What cannot be read is not there, and refuses the verdict.
            let _ = reader.read_on();
            let writer = reader.writers.get(&pid).copied().unwrap_or_default();
            let written = writer.written;
            if written.has_all_of(due) || begun.elapsed() > PATIENCE {
                return written;
            }
            drop(reader);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Reader {
    fn read_on(&mut self) -> io::Result<()> {
        self.log.read_to_end(&mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        for line in std::mem::replace(&mut self.rest, rest).split(|byte| *byte == b'\n') {
            self.take(line);
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8]) {
        let Some((pid, said)) = said(line) else { return };
        let writer = self.writers.entry(pid).or_default();
        if said.starts_with(b"execute ") {
            writer.is_at_a_call = true;
            writer.written.statements += 1;
        } else if said.starts_with(b"statement: ") {
            writer.is_at_a_call = false;
        } else if said.starts_with(b"duration: ") && said.ends_with(b"  plan:") {
            writer.written.details += u64::from(writer.is_at_a_call);
        }
    }
}

/// Who wrote a line, and what: `2026-01-31 12:00:00.000 UTC [123] LOG:  execute hopcost_0: SELECT …`.
fn said(line: &[u8]) -> Option<(u32, &[u8])> {
    let open = line.iter().position(|byte| *byte == b'[')?;
    let close = open + line[open..].iter().position(|byte| *byte == b']')?;
    let pid = std::str::from_utf8(&line[open + 1..close]).ok()?.parse().ok()?;
    Some((pid, line[close + 1..].strip_prefix(b" LOG:  ")?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const STATEMENT: &str = "2026-01-31 12:00:00.000 UTC [7] LOG:  execute hopcost_0: SELECT 1\n\
        2026-01-31 12:00:00.000 UTC [7] DETAIL:  parameters: $1 = '[8] LOG:  execute'\n";
    const PLAN: &str =
        "2026-01-31 12:00:00.001 UTC [7] LOG:  duration: 0.02 ms  plan:\n\tQuery Text: SELECT 1\n";
    const OTHERS: &str = "2026-01-31 12:00:00.002 UTC [8] LOG:  execute hopcost_0: SELECT 1\n\
        2026-01-31 12:00:00.002 UTC [7] LOG:  statement: SELECT 2\n";

    /// What came of so many calls, with this in the log.
    fn counted(audit: Audit, calls: u64, log: &[&str]) -> [u64; 2] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut audited = Audited::new(audit, &Arc::new(Trail::open(file.path()).unwrap()), 7);
        (0..calls).for_each(|_| audited.called());
        file.write_all(log.concat().as_bytes()).unwrap();
        audited.counted()
    }

    #[test]
    fn each_statement_has_to_be_there_once_and_of_the_session_that_sent_it() {
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT, OTHERS, STATEMENT]), [2, 2]);
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT, OTHERS]), [1, 2], "missing");
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT; 3]), [1, 2], "twice");
        assert_eq!(counted(Audit::Off, 2, &[OTHERS]), [2, 2]);
        assert_eq!(counted(Audit::Off, 2, &[STATEMENT]), [1, 2], "nobody asked for it");
    }

    #[test]
    fn a_trace_has_the_plan_of_each_statement_too() {
        assert_eq!(counted(Audit::Trace, 1, &[STATEMENT, PLAN]), [1, 1]);
        assert_eq!(counted(Audit::Trace, 2, &[STATEMENT, PLAN, STATEMENT]), [1, 2]);
        assert_eq!(counted(Audit::Trace, 1, &[STATEMENT, PLAN, OTHERS, PLAN]), [1, 1], "besides");
        assert_eq!(counted(Audit::Statements, 1, &[STATEMENT, PLAN]), [0, 1], "more than asked");
    }

    #[test]
    fn the_log_is_read_on_from_where_the_last_window_ended() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut audited =
            Audited::new(Audit::Statements, &Arc::new(Trail::open(file.path()).unwrap()), 7);
        for calls in [1, 3] {
            (0..calls).for_each(|_| audited.called());
            (0..calls).for_each(|_| file.write_all(STATEMENT.as_bytes()).unwrap());
            assert_eq!(audited.counted(), [calls, calls]);
        }
        assert_eq!(audited.counted(), [0, 0]);
    }
}
