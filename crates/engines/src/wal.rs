//! **wal**: SQLite that writes: each call inserts one row durably into the write-ahead log.
//!
//! Method: a session has a database in the cache directory, and a committing thread on the CPU that
//! the experiment names for the log writer. The worker passes the row to it and waits until it is
//! on disk (`synchronous = FULL`). That the thread ran on that CPU, and that each call is a row, is
//! counted.
//!
//! Limits: SQLite has no log writer; this models an engine whose commits go through one thread. The
//! device is the machine's, and often dominates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, CpuId, Instance, Known, Loading, Locality,
    Look, Metric, Needs, Request, Row, Session, SessionPlacement, Setup, Target, TargetError,
    VariantSettings,
};
use hopcost_sys::affinity;
use rusqlite::{Connection, Statement};

use super::log_writer_of;
use super::restrictions::{NO_AUDIT, NO_PAGES, NO_PARALLEL, NOTHING_ELSE};

pub struct Wal;

const INSERT: &str = "INSERT INTO insert_test (number) VALUES (?1)";
/// The log's size before a checkpoint, and a little more.
const DISK_BYTES: u64 = 64 << 20;

impl Target for Wal {
    fn name(&self) -> &'static str {
        "wal"
    }

    fn about(&self) -> &'static str {
        "SQLite's write-ahead log on disk, written by a committing thread in a chosen place"
    }

    fn has_own_threads(&self) -> bool {
        true
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        Capabilities::but(&[NOTHING_ELSE, NO_PARALLEL, NO_AUDIT, NO_PAGES])
    }

    fn needs(&self, _setup: &Setup<'_>) -> Needs {
        Needs { stream_bytes: 4 << 20, disk_bytes: DISK_BYTES, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let statements = setup.spec().statements.len();
        let dir = &setup.cache_dir;
        std::fs::create_dir_all(dir)
            .map_err(|error| TargetError::Failed(format!("{}: {error}", dir.display())))?;
        let dir = tempfile::Builder::new()
            .prefix("wal-")
            .tempdir_in(dir)
            .map_err(|error| TargetError::Failed(format!("{}: {error}", dir.display())))?;
        Ok(Box::new(Databases { dir, opened: AtomicU64::new(0), statements }))
    }
}

struct Databases {
    dir: tempfile::TempDir,
    opened: AtomicU64,
    statements: usize,
}

impl Instance for Databases {
    fn identity(&self) -> String {
        let on = if hopcost_sys::files::is_memory_backed(self.dir.path()) {
            "in a file system in memory, where nothing is durable"
        } else {
            "on disk"
        };
        format!("SQLite {}, WAL, synchronous = FULL, {on}", rusqlite::version())
    }

    fn session(
        &self,
        variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let cpu = log_writer_of(variant)?;
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.path().join(format!("{number}.db"));
        Ok(Box::new(Committer::start(path, cpu)?))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotApplicable, "what is written is on disk")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec![
            "one row, committed by the session's committing thread".to_owned();
            self.statements
        ])
    }
}

/// A committed row's number, and the CPU it was committed on.
type Committed = Result<(i64, CpuId), String>;

struct Committer {
    rows: Option<SyncSender<i64>>,
    committed: Receiver<Committed>,
    thread: Option<JoinHandle<()>>,
    cpu: CpuId,
    last_row: i64,
    counted_to: i64,
    calls: u64,
    in_place: u64,
}

impl Committer {
    fn start(path: PathBuf, cpu: CpuId) -> Result<Self, TargetError> {
        let (rows, to_commit) = sync_channel(1);
        let (report, committed) = sync_channel::<Committed>(1);
        let thread = std::thread::spawn(move || {
            let opened = affinity::pin_to(cpu).map_err(|error| error.to_string()).and_then(|()| {
                create(&path).map_err(|error| format!("{}: {error}", path.display()))
            });
            let _ = report.send(opened.as_ref().map(|_| (0, cpu)).map_err(Clone::clone));
            let Ok(database) = opened else { return };
            let Ok(mut insert) = database.prepare(INSERT) else { return };
            for row in to_commit {
                let _ = report.send(commit(&mut insert, row));
            }
        });
        let opened = committed.recv();
        let session = Self {
            rows: Some(rows),
            committed,
            thread: Some(thread),
            cpu,
            last_row: 0,
            counted_to: 0,
            calls: 0,
            in_place: 0,
        };
        match opened {
            Ok(Ok(_)) => Ok(session),
            Ok(Err(error)) => Err(TargetError::Failed(error)),
            Err(_) => Err(TargetError::Failed("the committing thread died".to_owned())),
        }
    }
}

fn create(path: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch("CREATE TABLE insert_test (number INTEGER)")?;
    Ok(database)
}

fn commit(insert: &mut Statement<'_>, row: i64) -> Committed {
    let row = insert.insert([row]).map_err(|error| error.to_string())?;
    Ok((row, affinity::current_cpu()))
}

impl Session for Committer {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        let died = || CallError::Failed("the committing thread died".to_owned());
        let rows = self.rows.as_ref().ok_or_else(died)?;
        rows.send(request.arguments[0]).map_err(|_| died())?;
        let (row, cpu) = self.committed.recv().map_err(|_| died())?.map_err(CallError::Failed)?;
        self.last_row = row;
        self.calls += 1;
        self.in_place += u64::from(cpu == self.cpu);
        Ok(Answer::of(Row::new().integer(1)))
    }

    fn counted(&mut self) -> Counted {
        let calls = std::mem::take(&mut self.calls);
        // Row ids grow by one for each row.
        let rows = self.last_row - std::mem::replace(&mut self.counted_to, self.last_row);
        let in_place = std::mem::take(&mut self.in_place);
        let proved = BTreeMap::from([
            (Metric::CommittedCalls, [rows.unsigned_abs(), calls]),
            (Metric::LogWriterInPlace, [in_place, calls]),
        ]);
        Counted { proved, ..Counted::default() }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        // Without a sender the thread ends.
        self.rows = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_a_row_that_was_committed_where_it_belongs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let cpu = affinity::mask().unwrap().last().unwrap();
        let mut session = Committer::start(path.clone(), cpu).unwrap();
        for n in 0..7 {
            session.execute(&Request { statement: 0, arguments: [n, 0, 0, 0] }).unwrap();
        }
        let proved = session.counted().proved;
        assert_eq!(
            (proved[&Metric::CommittedCalls], proved[&Metric::LogWriterInPlace]),
            ([7, 7], [7, 7])
        );
        drop(session);
        let sum: i64 = Connection::open(path)
            .unwrap()
            .query_row("SELECT sum(number) FROM insert_test", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sum, 21);
    }

    #[test]
    fn a_place_without_room_for_a_database_is_told() {
        let cpu = affinity::mask().unwrap().first().unwrap();
        let error = Committer::start("/nowhere/x.db".into(), cpu).err().unwrap();
        assert!(error.to_string().contains("/nowhere/x.db"), "{error}");
    }
}
