//! Statement logging in SQL Server, turned on before and off after each window.
//!
//! Method: `statements` is a `SERVER AUDIT`, `trace` an event session (or SQL Trace) with begin and
//! end of calls and statements. All are server-wide, with a file per window. The server reads the
//! file after the window, and each session's records are compared with its calls. An audit has a
//! record per object that a statement touches: they are counted by transaction, which a call is.
//!
//! Limits: experimental, never run on SQL Server itself. Audits record transactions from 2016 on.
//! Before 2019 the server cannot delete the files: a note names them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_core::{Audit, Reason, Rows, TargetError};

use super::super::audit::Written;
use super::super::server::audit_log::AuditLog;
use super::super::server::in_quotes;
use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;
use super::{journal, scripts};

/// The journal's line: this word, the name of what was set up, and its directory.
const WORD: &str = "audit";
const SQL_TRACE_WORD: &str = "sqltrace";

pub struct Auditing(Mutex<AuditState>);

struct AuditState {
    wire: Wire,
    names: Names,
    by_sql_trace: bool,
    begun: u32,
    now: Option<(Audit, String)>,
    written: BTreeMap<u32, Written>,
    /// The first error; nothing is counted after it.
    trouble: Option<String>,
}

struct Names {
    name: String,
    path: String,
}

impl Names {
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
    /// Tries each audit; all are off afterwards.
    pub fn new(mut wire: Wire, by_sql_trace: bool) -> Result<Self, WireError> {
        // Removes what a killed run has left.
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
        // Missing rights to start or read an audit show now.
        for tier in [Audit::Statements, Audit::Trace] {
            if state.has(tier).is_ok() {
                state.turn_to(tier)?;
            }
        }
        state.turn_to(Audit::Off)?;
        Ok(Self(Mutex::new(state)))
    }

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
    /// Scripts: start, stop, file name, read.
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

    fn is_writing(&mut self) -> Result<bool, WireError> {
        let by_sql_trace = self.by_sql_trace.then_some("sql_trace_is_on");
        for script in ["writes_down"].into_iter().chain(by_sql_trace) {
            if self.names.value(&mut self.wire, script)? != "0" {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has(&self, audit: Audit) -> Result<(), Reason> {
        let Some([begin, ..]) = self.scripts(audit) else { return Ok(()) };
        scripts::sql(begin, self.wire.version()).map(drop)
    }

    /// Stops and counts the running audit, and starts this one.
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

    fn add(&mut self, row: Vec<Option<String>>) {
        let mut numbers = row.into_iter().flatten().filter_map(|number| number.parse().ok());
        let Some(session) = numbers.next() else { return };
        let written = self.written.entry(session as u32).or_default();
        written.statements += numbers.next().unwrap_or(0);
        written.details += numbers.next().unwrap_or(0);
    }

    fn end_window(&mut self, audit: Audit) -> Result<(), WireError> {
        self.turn_to(Audit::Off)?;
        // `Off` has no file to read: check that nothing is running.
        if audit == Audit::Off && self.is_writing()? {
            return Err(WireError::Lost("it goes on though it was ended".to_owned()));
        }
        Ok(())
    }

    fn known(&mut self, outcome: Result<(), WireError>) -> Option<()> {
        if let Err(error) = outcome {
            self.trouble.get_or_insert(error.to_string());
        }
        self.trouble.is_none().then_some(())
    }
}

/// Removes what was set up: `None` if nothing was, else a note on files that could not be deleted,
/// or "".
pub fn put_back(wire: &mut Wire) -> Result<Option<String>, WireError> {
    let sql_trace = take_away(wire, SQL_TRACE_WORD, &["end_sql_trace"], &["delete_sql_traces"])?;
    let set_up = ["drop_audit_specification", "drop_audit", "drop_trace"];
    let others = take_away(wire, WORD, &set_up, &["delete_audits", "delete_traces"])?;
    Ok(sql_trace.filter(|words| !words.is_empty()).or(others))
}

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
        // Older versions have no audit that hopcost uses.
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
