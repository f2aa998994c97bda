//! What a server writes down of each statement: begun and ended between windows, where the user allows it.
//!
//! Method: `statements` is a `SERVER AUDIT` of all statements of our database, written some time later; `trace` an
//! event session with the beginning and the end of each call and of each statement in it. Both are the server's and
//! not a session's: the one that a level asks for is begun before the first call of a window, and ended after it,
//! when the server has to write what it still holds. Then it reads its own files: what each session has there is
//! counted against its calls. An audit has a record for each object that a statement touches, all of one transaction,
//! and a call is a transaction.
//!
//! Limits: experimental, as nothing of it could be tried on SQL Server itself. Audits tell their transactions from
//! 2016 on. The files are the server's, and before 2019 it has no means to delete them: a note says where they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopcost_core::Audit;
use hopcost_sys::clock;

use super::super::audit::{Account, Written};
use super::journal;
use super::wire::{Rows, Wire, WireError};

/// What our table has of it: this word, then where the files are.
const WORD: &str = "audit";

/// A server that can write statements down, over a connection of its own.
pub struct Auditing(Mutex<Desk>);

struct Desk {
    wire: Wire,
    path: String,
    /// What it writes.
    now: Audit,
    /// What it has written at some time.
    files: Vec<Audit>,
    /// What was found there of each session, until more may have come.
    found: Option<BTreeMap<u32, Written>>,
}

/// What is written at the end of a window may be on its way.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

impl Auditing {
    /// Sets it up; nothing is written yet.
    pub fn new(mut wire: Wire) -> Result<Self, WireError> {
        let path = wire.value(wire.script("audit_path")?)?.unwrap_or_default();
        journal::write(&mut wire, WORD, &path)?;
        for name in ["create_audit", "create_audit_specification", "create_trace"] {
            if wire.script(name).is_ok() {
                say(&mut wire, name, &path)?;
            }
        }
        let (now, files, found) = (Audit::Off, Vec::new(), None);
        Ok(Self(Mutex::new(Desk { wire, path, now, files, found })))
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written of a session in all; what should be there is waited for.
    fn written(&self, number: u32, due: Written) -> Written {
        let begun = clock::now();
        loop {
            let mut desk = self.desk();
            // What cannot be read is not there, and refuses the verdict.
            let found = desk.found().unwrap_or_default();
            let written = found.get(&number).copied().unwrap_or_default();
            if written.has_all_of(due) || begun.elapsed() > PATIENCE {
                return written;
            }
            desk.found = None;
            drop(desk);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Desk {
    /// Has this written from here on, and nothing else.
    fn turn_to(&mut self, audit: Audit) -> Result<(), WireError> {
        if self.now == audit {
            return Ok(());
        }
        for (tier, is_wanted) in [(self.now, false), (audit, true)] {
            let Some(of) = name(tier) else { continue };
            let does = if is_wanted { "begin" } else { "end" };
            say(&mut self.wire, &format!("{does}_{of}"), &self.path)?;
        }
        self.now = audit;
        self.found = None;
        if audit != Audit::Off && !self.files.contains(&audit) {
            self.files.push(audit);
        }
        Ok(())
    }

    fn found(&mut self) -> Result<BTreeMap<u32, Written>, WireError> {
        if let Some(found) = &self.found {
            return Ok(found.clone());
        }
        let mut found: BTreeMap<u32, Written> = BTreeMap::new();
        for of in &self.files {
            let sql = if *of == Audit::Trace { "traced" } else { "audited" };
            for row in say(&mut self.wire, sql, &self.path)? {
                let mut numbers =
                    row.into_iter().flatten().filter_map(|number| number.parse().ok());
                let Some(session) = numbers.next() else { continue };
                let written = found.entry(session as u32).or_default();
                written.statements += numbers.next().unwrap_or(0);
                written.details += numbers.next().unwrap_or(0);
            }
        }
        self.found = Some(found.clone());
        Ok(found)
    }
}

/// A tier, in the names of scripts.
fn name(audit: Audit) -> Option<&'static str> {
    match audit {
        Audit::Off => None,
        Audit::Statements => Some("audit"),
        Audit::Trace => Some("trace"),
    }
}

fn say(wire: &mut Wire, name: &str, path: &str) -> Result<Rows, WireError> {
    let sql = wire.script(name)?.replace("{path}", &path.replace('\'', "''"));
    wire.query(&sql)
}

/// A session whose statements are written down, or are not.
pub struct Audited {
    account: Account,
    auditing: Arc<Auditing>,
    number: u32,
}

impl Audited {
    /// The session of this number, of which the files may have something from whoever had that before.
    pub fn new(audit: Audit, auditing: &Arc<Auditing>, number: u32) -> Result<Self, WireError> {
        if let Some(of) = name(audit) {
            auditing.desk().wire.script(&format!("begin_{of}"))?;
        }
        let mut account = Account::new(audit);
        account.settle(auditing.written(number, Written::default()));
        Ok(Self { account, auditing: Arc::clone(auditing), number })
    }

    /// Before the first call of a window.
    pub fn begin(&self) {
        // Where it cannot be begun, nothing is written, and the count will tell.
        let _ = self.auditing.desk().turn_to(self.account.audit);
    }

    /// One more was asked.
    #[inline]
    pub fn called(&mut self) {
        self.account.called();
    }

    /// After the last call of a window: of its calls, how many were written down as they should have been.
    pub fn counted(&mut self) -> [u64; 2] {
        let _ = self.auditing.desk().turn_to(Audit::Off);
        let written = self.auditing.written(self.number, self.account.due());
        self.account.settle(written)
    }
}

/// Takes away what was set up: where the files are that could not be deleted, or nothing where there were none.
pub fn put_back(wire: &mut Wire) -> Result<Option<String>, WireError> {
    let Some(path) = journal::read(wire, WORD)? else { return Ok(None) };
    for name in ["drop_audit_specification", "drop_audit", "drop_trace"] {
        // Older ones have no audit that we could count.
        if wire.script(name).is_ok() {
            say(wire, name, &path)?;
        }
    }
    let are_gone = say(wire, "delete_audits", &path).is_ok();
    journal::forget(wire, WORD)?;
    Ok(Some(if are_gone { String::new() } else { path }))
}
