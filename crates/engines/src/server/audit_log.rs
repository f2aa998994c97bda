//! A server's audit logs: was each call logged once?
//!
//! Method: logs are read on after each window. An [`AuditLineParser`] finds each line's session,
//! whose lines are counted against its calls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopcost_core::{Audit, TargetError};
use hopcost_sys::clock;

use super::super::audit::{Account, Written};

pub trait AuditLineParser: Send {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditEntry {
    Call,
    /// A statement of hopcost that is not a call.
    Besides,
    /// Details of the last call or statement.
    Detail,
    DetailOfCall,
}

pub trait AuditLog: Send + Sync {
    fn has(&self, _audit: Audit) -> Result<(), TargetError> {
        Ok(())
    }

    /// Called at a window's end: what hopcost asks from here on must not be logged.
    fn pause(&self) {}

    fn so_far(&self, number: u32) -> Written;

    /// The same after a window, waiting for `due`; `None` if it is not known.
    fn after(&self, audit: Audit, number: u32, due: Written) -> Option<Written>;
}

pub struct Audited<L> {
    account: Account,
    audit_log: Arc<L>,
    number: u32,
}

impl<L: AuditLog> Audited<L> {
    /// Entries that are already there do not count as calls.
    pub fn new(audit: Audit, audit_log: Arc<L>, number: u32) -> Result<Self, TargetError> {
        audit_log.has(audit)?;
        let mut account = Account::new(audit);
        account.settle(audit_log.so_far(number));
        Ok(Self { account, audit_log, number })
    }

    #[inline]
    pub fn called(&mut self) {
        self.account.called();
    }

    pub fn pause(&self) {
        self.audit_log.pause();
    }

    pub fn counted(&mut self) -> [u64; 2] {
        let Account { audit, .. } = self.account;
        match self.audit_log.after(audit, self.number, self.account.due()) {
            Some(written) => self.account.settle(written),
            None => self.account.unknown(),
        }
    }
}

pub struct AuditLogReader(Mutex<Logs>);

struct Logs {
    logs: Vec<Log>,
    writers: BTreeMap<u32, SessionEntries>,
}

struct Log {
    file: File,
    rest: Vec<u8>,
    scribe: Box<dyn AuditLineParser>,
}

#[derive(Clone, Copy, Default)]
struct SessionEntries {
    written: Written,
    is_at_a_call: bool,
}

/// Entries of a window may arrive this late.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

impl AuditLogReader {
    pub fn open<P: AsRef<Path>>(
        logs: impl IntoIterator<Item = (P, Box<dyn AuditLineParser>)>,
    ) -> io::Result<Self> {
        let open = |(path, scribe): (P, _)| {
            let name = path.as_ref();
            let file = File::open(name).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", name.display()))
            })?;
            Ok(Log { file, rest: Vec::new(), scribe })
        };
        let logs = logs.into_iter().map(open).collect::<io::Result<_>>()?;
        Ok(Self(Mutex::new(Logs { logs, writers: BTreeMap::new() })))
    }
}

impl AuditLog for AuditLogReader {
    fn so_far(&self, number: u32) -> Written {
        self.after(Audit::Off, number, Written::default()).unwrap_or_default()
    }

    fn after(&self, _: Audit, number: u32, due: Written) -> Option<Written> {
        let begun = clock::now();
        loop {
            let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Lines that cannot be read are missing, which refuses the verdict.
            let _ = logs.read_on();
            let writer = logs.writers.get(&number).copied().unwrap_or_default();
            let written = writer.written;
            if written.has_all_of(due) || begun.elapsed() > PATIENCE {
                return Some(written);
            }
            drop(logs);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Logs {
    fn read_on(&mut self) -> io::Result<()> {
        for log in &mut self.logs {
            log.file.read_to_end(&mut log.rest)?;
            let whole = log.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let rest = log.rest.split_off(whole);
            for line in std::mem::replace(&mut log.rest, rest).split(|byte| *byte == b'\n') {
                if let Some((number, said)) = log.scribe.take(line) {
                    self.writers.entry(number).or_default().take(said);
                }
            }
        }
        Ok(())
    }
}

impl SessionEntries {
    fn take(&mut self, said: AuditEntry) {
        match said {
            AuditEntry::Call => {
                self.is_at_a_call = true;
                self.written.statements += 1;
            }
            AuditEntry::Besides => self.is_at_a_call = false,
            AuditEntry::Detail => self.written.details += u64::from(self.is_at_a_call),
            AuditEntry::DetailOfCall => self.written.details += 1,
        }
    }
}

#[cfg(test)]
pub fn counted(
    audit: Audit,
    calls: u64,
    scribe: Box<dyn AuditLineParser>,
    log: &[&str],
) -> [u64; 2] {
    use std::io::Write;

    let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
    let audit_log = AuditLogReader::open([(file.path(), scribe)]).expect("it can be opened");
    let mut audited = Audited::new(audit, Arc::new(audit_log), 7).expect("it has all tiers");
    (0..calls).for_each(|_| audited.called());
    file.write_all(log.concat().as_bytes()).expect("it can be written to");
    audited.counted()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Calls;

    impl AuditLineParser for Calls {
        fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
            (!line.is_empty()).then_some((7, AuditEntry::Call))
        }
    }

    #[test]
    fn a_log_is_read_on_from_where_the_last_window_ended() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let audit_log =
            AuditLogReader::open([(file.path(), Box::new(Calls) as Box<dyn AuditLineParser>)])
                .unwrap();
        let mut audited = Audited::new(Audit::Statements, Arc::new(audit_log), 7).unwrap();
        for calls in [1, 3] {
            (0..calls).for_each(|_| audited.called());
            (0..calls).for_each(|_| file.write_all(b"a call\n").unwrap());
            assert_eq!(audited.counted(), [calls, calls]);
        }
        assert_eq!(audited.counted(), [0, 0]);
    }
}
