//! An audit log by hopcost's own hooks: a stand-in, as SQLite has no audit.
//!
//! Method: `statements` logs a line for each call with its text and time, written later by a
//! thread, as audits with a queue do. `trace` logs a line at a call's start, for each row, and at
//! its end, and the call waits for each write. After each window the file is read on from where the
//! last reading ended, and its lines are counted against the calls.
//!
//! Limits: written means taken by the kernel; nothing waits for the disk.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use hopcost_core::Audit;

use super::super::audit::{Account, Written};
use super::ffi::{Connection, Event, SqliteError, Traced, Wanted};

const GATHERED_BYTES: usize = 32 << 10;

const STATEMENT: &str = "statement ";
const DONE: &str = "done ";

/// The thread that writes asynchronously; it ends with the last sender.
pub struct Scribe(Sender<Errand>);

enum Errand {
    Write(Arc<File>, Vec<u8>),
    Tell(Sender<()>),
}

impl Scribe {
    pub fn start() -> Self {
        let (send, errands) = channel();
        std::thread::spawn(move || {
            for errand in errands {
                match errand {
                    // Lines that cannot be written are missing when they are counted.
                    Errand::Write(file, lines) => drop((&*file).write_all(&lines)),
                    Errand::Tell(whoever) => drop(whoever.send(())),
                }
            }
        });
        Self(send)
    }
}

pub struct Audited {
    account: Account,
    pen: Rc<RefCell<Pen>>,
    read_bytes: u64,
    written: Written,
    _traced: Option<Traced>,
}

struct Pen {
    file: Arc<File>,
    line: Vec<u8>,
    /// `None` if each line is written at once.
    scribe: Option<Sender<Errand>>,
}

impl Audited {
    pub fn new(
        audit: Audit,
        connection: &Connection,
        dir: &Path,
        scribe: &Scribe,
    ) -> Result<Self, String> {
        let said = |error: io::Error| format!("{}: {error}", dir.display());
        let file = Arc::new(tempfile::tempfile_in(dir).map_err(said)?);
        let is_later = audit == Audit::Statements;
        let scribe = is_later.then(|| scribe.0.clone());
        let pen = Rc::new(RefCell::new(Pen { file, line: Vec::new(), scribe }));
        let traced = traced(audit, connection, &pen).map_err(|error| error.to_string())?;
        let account = Account::new(audit);
        Ok(Self { account, pen, read_bytes: 0, written: Written::default(), _traced: traced })
    }

    #[inline]
    pub fn called(&mut self) {
        self.account.called();
    }

    pub fn counted(&mut self) -> [u64; 2] {
        self.pen.borrow_mut().put_down();
        // Lines that cannot be read are missing, which refuses the verdict.
        let _ = self.read_on();
        self.account.settle(self.written)
    }

    fn read_on(&mut self) -> io::Result<()> {
        let file = Arc::clone(&self.pen.borrow().file);
        let mut lines = BufReader::new(From { file: &file, at: self.read_bytes });
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            self.read_bytes += line.len() as u64;
            self.written.statements += u64::from(line.starts_with(STATEMENT.as_bytes()));
            self.written.details += u64::from(line.starts_with(DONE.as_bytes()));
            line.clear();
        }
        Ok(())
    }
}

/// Reads a file from an offset, independently of the writer's position.
struct From<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn traced(
    audit: Audit,
    connection: &Connection,
    pen: &Rc<RefCell<Pen>>,
) -> Result<Option<Traced>, SqliteError> {
    let wanted = match audit {
        Audit::Off => return Ok(None),
        Audit::Statements => Wanted::Ends,
        Audit::Trace => Wanted::All,
    };
    let pen = Rc::clone(pen);
    let sink = move |event: Event<'_>| pen.borrow_mut().write(event, wanted);
    connection.trace(wanted, sink).map(Some)
}

impl Pen {
    fn write(&mut self, event: Event<'_>, wanted: Wanted) {
        let written = match event {
            Event::Begins(text) => writeln!(self.line, "{STATEMENT}{}", text.to_string_lossy()),
            Event::Row => writeln!(self.line, "row"),
            Event::Ended(text, ns) if wanted == Wanted::Ends => {
                writeln!(self.line, "{STATEMENT}{}, {ns} ns", text.to_string_lossy())
            }
            Event::Ended(_, ns) => writeln!(self.line, "{DONE}{ns} ns"),
        };
        debug_assert!(written.is_ok(), "memory takes all");
        if self.scribe.is_none() || self.line.len() > GATHERED_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let lines = std::mem::take(&mut self.line);
        match &self.scribe {
            Some(scribe) => drop(scribe.send(Errand::Write(Arc::clone(&self.file), lines))),
            None => drop((&*self.file).write_all(&lines)),
        }
    }

    fn put_down(&mut self) {
        self.hand_over();
        if let Some(scribe) = &self.scribe {
            let (tell, told) = channel();
            let _ = scribe.send(Errand::Tell(tell));
            let _ = told.recv();
        }
    }
}
