//! What a server writes down of each statement: begun and ended around windows, where the user allows it.
//!
//! Method: `statements` is a `SERVER AUDIT` of all statements of our database, written some time later; `trace` an
//! event session with the beginning and the end of each call and of each statement in it, or the same by SQL Trace,
//! its predecessor, if the URL says so. All are the server's and not a session's, and have a name that no other run's
//! have. The one that a level asks for is begun before a window, into a file of its own, and ended after it, when the
//! server has to write what it still holds. Then the server reads that file: what each session has there is counted
//! against its calls. An audit has a record for each object that a statement touches, all of one transaction, and a
//! call is a transaction.
//!
//! Limits: experimental, as nothing of it could be tried on SQL Server itself. Audits tell their transactions from
//! 2016 on. The files are the server's, and before 2019 it has no means to delete them: a note says where they are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_core::{Audit, Reason, Rows, TargetError};

use super::super::audit::Written;
use super::super::server::audit_log::AuditLog;
use super::super::server::in_quotes;
use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;
use super::{journal, scripts};

/// What our table has of it: this word, the name of what was set up, and where the files are.
const WORD: &str = "audit";
/// The same of SQL Trace, which is set up anew for each window.
const SQL_TRACE_WORD: &str = "sqltrace";

/// A server that can write statements down, over a connection of its own.
pub struct Auditing(Mutex<AuditState>);

struct AuditState {
    wire: Wire,
    names: Names,
    /// Are calls traced by SQL Trace?
    by_sql_trace: bool,
    /// Files were begun so often.
    begun: u32,
    /// What it writes, and where.
    now: Option<(Audit, String)>,
    /// What was found of each session in all windows.
    written: BTreeMap<u32, Written>,
    /// What went wrong: nothing is known from then on.
    trouble: Option<String>,
}

/// What is set up, and the directory of its files.
struct Names {
    name: String,
    path: String,
}

impl Names {
    /// As the server has it.
    fn from_server(wire: &mut Wire) -> Result<Self, WireError> {
        let row = wire.say("audit_place")?.into_iter().flatten();
        let mut values = row.map(Option::unwrap_or_default);
        let mut path = values.next().unwrap_or_default();
        if !path.ends_with(['/', '\\']) {
            path.push(if path.contains('\\') { '\\' } else { '/' });
        }
        let name = format!("hopcost_{}", values.next().unwrap_or_default());
        Ok(Self { name, path })
    }

    /// Says it with these names; `file` is one that was written.
    fn say(&self, wire: &mut Wire, script: &str, file: &str) -> Result<Rows, WireError> {
        let sql = wire.script(script)?.replace("{name}", &self.name);
        let sql = sql.replace("{path}", &in_quotes(&self.path)).replace("{file}", &in_quotes(file));
        wire.query(&sql)
    }

    fn value(&self, wire: &mut Wire, script: &str) -> Result<String, WireError> {
        let first = self.say(wire, script, "")?.into_iter().flatten().flatten().next();
        Ok(first.unwrap_or_default())
    }
}

impl Auditing {
    /// Sets it up, and tries it: nothing is written after that.
    pub fn new(mut wire: Wire, by_sql_trace: bool) -> Result<Self, WireError> {
        // What was begun and could not be finished.
        put_back(&mut wire)?;
        let names = Names::from_server(&mut wire)?;
        let (words, of_trace): (&[_], _) = if by_sql_trace {
            (&[WORD, SQL_TRACE_WORD], None)
        } else {
            (&[WORD], Some("create_trace"))
        };
        for word in words {
            journal::write(&mut wire, word, &format!("{} {}", names.name, names.path))?;
        }
        for script in ["create_audit", "create_audit_specification"].into_iter().chain(of_trace) {
            if wire.script(script).is_ok() {
                names.say(&mut wire, script, "")?;
            }
        }
        let (now, written, trouble) = (None, BTreeMap::new(), None);
        let mut state = AuditState { wire, names, by_sql_trace, begun: 0, now, written, trouble };
        // Who may not begin it or read what was written is told that now.
        for tier in [Audit::Statements, Audit::Trace] {
            if state.has(tier).is_ok() {
                state.turn_to(tier)?;
            }
        }
        state.turn_to(Audit::Off)?;
        Ok(Self(Mutex::new(state)))
    }

    /// Has this written from here on.
    pub fn begin(&self, audit: Audit) {
        let mut state = self.state();
        let turned = state.turn_to(audit);
        state.known(turned);
    }

    fn state(&self) -> MutexGuard<'_, AuditState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn trouble(&self) -> Option<String> {
        let state = self.state();
        let words = state.trouble.as_ref()?;
        Some(format!("what the server writes down of statements could not be counted: {words}"))
    }
}

impl AuditLog for Auditing {
    fn has(&self, audit: Audit) -> Result<(), TargetError> {
        self.state().has(audit).map_err(TargetError::NotHere)
    }

    fn pause(&self) {
        self.begin(Audit::Off);
    }

    fn so_far(&self, number: u32) -> Written {
        self.state().written.get(&number).copied().unwrap_or_default()
    }

    fn after(&self, audit: Audit, number: u32, _: Written) -> Option<Written> {
        let mut state = self.state();
        let ended = state.end_window(audit);
        state.known(ended)?;
        Some(state.written.get(&number).copied().unwrap_or_default())
    }
}

impl AuditState {
    /// What is said to have a tier begun and ended, and to know its file and what is in there.
    fn scripts(&self, audit: Audit) -> Option<[&'static str; 4]> {
        match audit {
            Audit::Off => None,
            Audit::Statements => Some(["begin_audit", "end_audit", "audit_file", "audited"]),
            Audit::Trace if self.by_sql_trace => {
                Some(["begin_sql_trace", "end_sql_trace", "sql_trace_file", "sql_traced"])
            }
            Audit::Trace => Some(["begin_trace", "end_trace", "trace_file", "traced"]),
        }
    }

    /// Is anything written down at all?
    fn is_writing(&mut self) -> Result<bool, WireError> {
        let by_sql_trace = self.by_sql_trace.then_some("sql_trace_is_on");
        for script in ["writes_down"].into_iter().chain(by_sql_trace) {
            if self.names.value(&mut self.wire, script)? != "0" {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does this version have what a tier takes?
    fn has(&self, audit: Audit) -> Result<(), Reason> {
        let Some([begin, ..]) = self.scripts(audit) else { return Ok(()) };
        scripts::sql(begin, self.wire.version()).map(drop)
    }

    /// Has this written from here on, and counts what was written before.
    fn turn_to(&mut self, audit: Audit) -> Result<(), WireError> {
        if self.now.as_ref().is_some_and(|(now, _)| *now == audit) {
            return Ok(());
        }
        if let Some((before, file)) = self.now.take() {
            let Some([_, end, _, read]) = self.scripts(before) else { return Ok(()) };
            self.names.say(&mut self.wire, end, "")?;
            for row in self.names.say(&mut self.wire, read, &file)? {
                self.add(row);
            }
        }
        let Some([begin, _, file, _]) = self.scripts(audit) else { return Ok(()) };
        self.begun += 1;
        self.names.say(&mut self.wire, begin, &self.begun.to_string())?;
        let file = self.names.value(&mut self.wire, file)?;
        self.now = Some((audit, file));
        Ok(())
    }

    /// A session, its statements, and perhaps how they were done.
    fn add(&mut self, row: Vec<Option<String>>) {
        let mut numbers = row.into_iter().flatten().filter_map(|number| number.parse().ok());
        let Some(session) = numbers.next() else { return };
        let written = self.written.entry(session as u32).or_default();
        written.statements += numbers.next().unwrap_or(0);
        written.details += numbers.next().unwrap_or(0);
    }

    fn end_window(&mut self, audit: Audit) -> Result<(), WireError> {
        self.turn_to(Audit::Off)?;
        // Of what is off nothing is read: it has to be off.
        if audit == Audit::Off && self.is_writing()? {
            return Err(WireError::Lost("it goes on though it was ended".to_owned()));
        }
        Ok(())
    }

    /// Nothing is known once something went wrong, which is told.
    fn known(&mut self, outcome: Result<(), WireError>) -> Option<()> {
        if let Err(error) = outcome {
            self.trouble.get_or_insert(error.to_string());
        }
        self.trouble.is_none().then_some(())
    }
}

/// Takes away what was set up, if something was: where files are that could not be deleted, or no words.
pub fn put_back(wire: &mut Wire) -> Result<Option<String>, WireError> {
    let sql_trace = take_away(wire, SQL_TRACE_WORD, &["end_sql_trace"], &["delete_sql_traces"])?;
    let set_up = ["drop_audit_specification", "drop_audit", "drop_trace"];
    let others = take_away(wire, WORD, &set_up, &["delete_audits", "delete_traces"])?;
    Ok(sql_trace.filter(|words| !words.is_empty()).or(others))
}

/// What stands in our table under this word: ended, and its files deleted.
fn take_away(
    wire: &mut Wire,
    word: &str,
    ends: &[&str],
    deletes: &[&str],
) -> Result<Option<String>, WireError> {
    let Some(was) = journal::read(wire, word)? else { return Ok(None) };
    let (name, path) = was.split_once(' ').unwrap_or((&was, ""));
    let names = Names { name: name.to_owned(), path: path.to_owned() };
    for script in ends {
        // Older ones have no audit that we could count.
        if wire.script(script).is_ok() {
            names.say(wire, script, "")?;
        }
    }
    let deleted = deletes.iter().map(|script| names.say(wire, script, ""));
    let left = deleted.collect::<Vec<_>>().into_iter().find_map(Result::err);
    journal::forget(wire, word)?;
    Ok(Some(left.map_or_else(String::new, |words| {
        format!("the server keeps the files {path}{name}*, which it could not delete: {words}")
    })))
}
