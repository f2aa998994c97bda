//! What hopcost measured, kept in one SQLite file that any SQLite client can query.
//!
//! RULE: the only owner of the schema. A run is written down when it begins and every part of it when
//! it is finished, each in a transaction of its own that is on disk before the next part starts; so a
//! killed run leaves what it had, and a report never needs a re-run.

mod digest;
mod header;
mod schema;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopcost_core::{
    Against, BlockRecord, Effort, ExperimentResult, Known, Machine, ProbeReport, Trial,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use thiserror::Error;

use digest::{Begin, of_parts};

pub use digest::{Key, host_key};
pub use header::{Decided, Header};

/// How long another hopcost may keep the file before we give up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It is somebody else's.
    #[error("this is no store of hopcost; name another file with --store")]
    Foreign,
    /// A newer hopcost wrote it.
    #[error(
        "a newer hopcost wrote this store (version {found}, this one knows {known}): update hopcost, \
         or name another file with --store"
    )]
    Newer {
        /// The file's version.
        found: u32,
        /// The newest that we know.
        known: u32,
    },
    /// There is none.
    #[error("there is no store here: 'hopcost run' makes one, --store names another place")]
    Absent,
    /// Another process writes it.
    #[error(
        "another process keeps this store locked: wait for it, or name another file with --store"
    )]
    Locked,
    /// The disk is full.
    #[error("the disk is full; what was finished before is kept: make room, and run again")]
    Full,
    /// The disk or the system refused a write.
    #[error(
        "this store could not be written ({0}): the disk may be full or failing, or a limit on the \
         size of files in force; what was finished before is kept"
    )]
    Unwritten(rusqlite::Error),
    /// Two processes write the same run.
    #[error(
        "another process goes on with this run: wait for it, or name another file with --store"
    )]
    Taken,
    /// It has to be copied to be read, and cannot be.
    #[error(
        "this store is of an older version, or was left in the middle of a write, and could not be copied to be read \
         ({0}): make room in the temporary directory (TMPDIR)"
    )]
    NoCopy(std::io::Error),
    /// It may not be written.
    #[error("this store may not be written here; name a place that may with --store")]
    ReadOnly,
    /// It is no database, or a broken one.
    #[error("this file is damaged ({0}): restore a copy, or name another file with --store")]
    Damaged(rusqlite::Error),
    /// Something else.
    #[error(transparent)]
    Other(rusqlite::Error),
    /// What was kept does not read as what it was.
    #[error("run {run} was kept in a form that this hopcost cannot read: {source}")]
    Unreadable {
        /// Which.
        run: i64,
        /// What was wrong.
        source: serde_json::Error,
    },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ConstraintViolation) => Self::Taken,
            Some(ErrorCode::SystemIoFailure) => Self::Unwritten(error),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Other(error),
        }
    }
}

/// The file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Where it was copied to, if its file cannot be read as it is.
    _copy: Option<TempDir>,
}

/// A run that begins.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// What it asks.
    pub question: &'a str,
    /// The database under test, where there is one.
    pub target: Option<&'a str>,
    /// How much was asked of it.
    pub effort: Effort,
    /// Its seed.
    pub seed: u64,
    /// The machine it runs on.
    pub machine: &'a Machine,
    /// Nanoseconds since 1970.
    pub begun_ns: u64,
    /// All that has to be equal for another run to go on with this one; none of a run on the hardware.
    pub identity: Option<&'a str>,
    /// What tells the host from others, where anything does.
    pub host_key: Option<Key>,
    /// The kernel's number of this boot.
    pub boot_id: &'a str,
    /// What may explain its figures and is in no machine document.
    pub traits: &'a BTreeMap<String, Known<String>>,
}

/// A call, as it is kept with `--raw-calls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptCall {
    /// The window, by its place in the block.
    pub place: usize,
    /// Its stream.
    pub stream: u32,
    /// When it was due, sent and done: nanoseconds from the window's start.
    pub due_sent_done_ns: [u64; 3],
}

/// A run as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// The experiment's name.
    pub experiment: String,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// The verdict; none of a run that was not finished.
    pub verdict: Option<String>,
}

/// A run with all that was found.
#[derive(Debug)]
pub struct Kept {
    /// Its number.
    pub id: i64,
    /// Its outcome; none of a run that was not finished.
    pub result: Option<ExperimentResult>,
    /// What its probes found.
    pub reports: Vec<ProbeReport>,
    /// How many blocks were finished.
    pub blocks: u64,
    /// Why it ended without an outcome, where it did.
    pub failure: Option<String>,
}

/// The run to which a baseline's name was given.
#[derive(Debug)]
pub struct Baseline {
    /// Its number.
    pub run: i64,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// All that has to be equal for another run to be compared with it.
    pub identity: String,
    /// The machine it ran on, as JSON.
    pub machine: String,
    /// The hopcost that measured it.
    pub hopcost_version: String,
    /// What it found.
    pub result: ExperimentResult,
}

/// A run that was not finished.
#[derive(Debug)]
pub struct Unfinished<T> {
    /// Its number.
    pub id: i64,
    /// What was decided before its first block; none if it never came so far.
    pub preparation: Option<T>,
    /// What it had.
    pub blocks: Vec<BlockRecord>,
}

/// Where a run was begun, as far as its store knows.
#[derive(Debug)]
pub struct Whose {
    /// The host's key; none of a run that was kept before there were any.
    pub host_key: Option<Key>,
    /// The host's name.
    pub host: Option<String>,
    /// Its machine, as JSON.
    pub machine: String,
}

/// What there is to go on with.
#[derive(Debug)]
pub enum Resumable<T> {
    /// Nothing: the latest run of this kind here was finished, or there is none.
    None,
    /// A run that was begun here.
    Here(Unfinished<T>),
    /// Another host's: its number, and the host's name.
    Elsewhere(i64, Option<String>),
}

impl Store {
    /// Opens the store, or makes one.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::open_with(path, flags)
    }

    /// Opens a store that is there, to read it: its file stays as it is, byte by byte. What an older hopcost wrote,
    /// or a killed one left in the middle of a write, is brought up to date in a copy.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent);
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let version = schema::version(&connection);
        if matches!(version, Ok(schema::VERSION)) {
            return Ok(Self { connection, path: path.to_owned(), _copy: None });
        }
        let dir = tempfile::tempdir().map_err(StoreError::NoCopy)?;
        let copy = dir.path().join("store.db");
        match version {
            Ok(_) => {
                connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
            }
            // It cannot be read before what was left is taken back, which takes a write.
            Err(StoreError::ReadOnly) => copy_with_journal(path, &copy)?,
            Err(error) => return Err(error),
        }
        let store = Self::open_with(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(Self { path: path.to_owned(), _copy: Some(dir), ..store })
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let mut connection = connect(path, flags)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema::migrate(&mut connection)?;
        Ok(Self { connection, path: path.to_owned(), _copy: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that a run begins; its number.
    pub fn begin(&self, run: &NewRun<'_>) -> Result<i64, StoreError> {
        let host = run.machine.host.get();
        let machine = json(run.machine);
        let begin = Begin {
            host_key: run.host_key,
            boot_id: run.boot_id,
            begun_ns: run.begun_ns,
            experiment: run.experiment,
            identity: run.identity.unwrap_or_default(),
            seed: run.seed,
        };
        let uid = begin.uid();
        self.connection.execute(
            "INSERT INTO run (experiment, question, target, host, effort, seed, hopcost_version,
                              machine, begun_s, identity, uid, host_key, traits)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                run.experiment,
                run.question,
                run.target,
                host,
                json(&run.effort).trim_matches('"'),
                run.seed.cast_signed(),
                env!("CARGO_PKG_VERSION"),
                machine,
                (run.begun_ns / 1_000_000_000).cast_signed(),
                run.identity,
                uid,
                run.host_key,
                json(run.traits)
            ],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Keeps what a probe found.
    pub fn add_report(&self, run: i64, report: &ProbeReport) -> Result<(), StoreError> {
        self.connection.execute(
            "INSERT INTO probe_report (run_id, probe, report) VALUES (?1, ?2, ?3)",
            params![run, report.probe, json(report)],
        )?;
        Ok(())
    }

    /// Keeps what was decided before a run's first block.
    pub fn prepare(&self, run: i64, preparation: &impl Serialize) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE run SET preparation = ?2 WHERE id = ?1",
            params![run, json(preparation)],
        )?;
        Ok(())
    }

    /// Keeps a finished block, with its calls where these are kept.
    pub fn add_block(
        &mut self,
        run: i64,
        block: &BlockRecord,
        calls: &[KeptCall],
    ) -> Result<(), StoreError> {
        let Trial { number, phase, unit, streams, binding, level, .. } = block.trial;
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT INTO block (run_id, number, phase, unit, streams, binding, level, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                run,
                number.cast_signed(),
                json(&phase).trim_matches('"'),
                unit.cast_signed(),
                streams,
                i64::try_from(binding).unwrap_or(i64::MAX),
                i64::try_from(level).unwrap_or(i64::MAX),
                json(block)
            ],
        )?;
        let mut insert =
            transaction.prepare("INSERT INTO call VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        for call in calls {
            let [due, sent, done] = call.due_sent_done_ns.map(u64::cast_signed);
            let place = i64::try_from(call.place).unwrap_or(i64::MAX);
            insert.execute(params![
                run,
                number.cast_signed(),
                place,
                call.stream,
                due,
                sent,
                done
            ])?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    /// A run's blocks, in their order.
    pub fn blocks(&self, run: i64) -> Result<Vec<BlockRecord>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT record FROM block WHERE run_id = ?1 ORDER BY number")?;
        let texts = statement.query_map([run], |row| row.get::<_, String>(0))?;
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        texts.iter().map(|text| read(run, text)).collect()
    }

    /// The latest run of such an identity that was begun here, if it was not finished.
    pub fn unfinished<T: DeserializeOwned>(
        &self,
        is_asked: impl Fn(&str) -> bool,
        is_here: impl Fn(&Whose) -> bool,
    ) -> Result<Resumable<T>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id, preparation, verdict, host_key, host, machine, identity FROM run
              WHERE identity IS NOT NULL ORDER BY id DESC",
        )?;
        let mut rows = statement.query([])?;
        let mut elsewhere = Resumable::None;
        while let Some(row) = rows.next()? {
            let identity: String = row.get(6)?;
            if !is_asked(&identity) {
                continue;
            }
            let (id, verdict): (i64, Option<String>) = (row.get(0)?, row.get(2)?);
            let whose = Whose { host_key: row.get(3)?, host: row.get(4)?, machine: row.get(5)? };
            match (is_here(&whose), verdict) {
                (true, Some(_)) => return Ok(Resumable::None),
                (true, None) => {
                    let preparation: Option<String> = row.get(1)?;
                    let preparation = preparation.map(|text| read(id, &text)).transpose()?;
                    return Ok(Resumable::Here(Unfinished {
                        id,
                        preparation,
                        blocks: self.blocks(id)?,
                    }));
                }
                (false, None) if matches!(elsewhere, Resumable::None) => {
                    elsewhere = Resumable::Elsewhere(id, whose.host);
                }
                (false, _) => {}
            }
        }
        Ok(elsewhere)
    }

    /// Writes down how a run ended; if it is the first of its baseline's name, that too.
    pub fn finish(&self, run: i64, result: &ExperimentResult) -> Result<(), StoreError> {
        let text = json(result);
        let transaction = self.connection.unchecked_transaction()?;
        let content = content(&transaction, run, &text)?;
        transaction.execute(
            "UPDATE run SET seconds = ?2, verdict = ?3, reason = ?4, result = ?5, failure = NULL,
                            reason_code = ?6, content = ?7
              WHERE id = ?1",
            params![
                run,
                result.seconds,
                result.verdict.to_string(),
                result.reason.as_str(),
                text,
                result.reason.code().name(),
                content
            ],
        )?;
        if let Some(first) = result.against.as_ref().filter(|against| against.is_first) {
            // Whoever finished first under that name stays.
            transaction.execute(
                "INSERT INTO baseline (name, experiment, target, run_id)
                 SELECT ?2, experiment, target, id FROM run WHERE id = ?1
                 ON CONFLICT DO NOTHING",
                params![run, first.baseline],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Writes down why a run ended without an outcome. It can still be gone on with.
    pub fn fail(&self, run: i64, why: &str) -> Result<(), StoreError> {
        self.connection.execute("UPDATE run SET failure = ?2 WHERE id = ?1", params![run, why])?;
        Ok(())
    }

    /// The baseline of this name for an experiment on a target; none if there is none yet.
    pub fn baseline(
        &self,
        name: &str,
        experiment: &str,
        target: &str,
    ) -> Result<Option<Baseline>, StoreError> {
        let found: Option<(i64, i64, [String; 4])> = self
            .connection
            .query_row(
                "SELECT id, begun_s, identity, machine, hopcost_version, result
                   FROM baseline JOIN run ON id = run_id
                  WHERE name = ?1 AND baseline.experiment = ?2 AND baseline.target = ?3",
                [name, experiment, target],
                |row| {
                    let strings = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
                    Ok((row.get(0)?, row.get(1)?, strings))
                },
            )
            .optional()?;
        let Some((run, begun_s, [identity, machine, hopcost_version, result])) = found else {
            return Ok(None);
        };
        let result = read(run, &result)?;
        Ok(Some(Baseline { run, begun_s, identity, machine, hopcost_version, result }))
    }

    /// How the runs that were held against a baseline stand beside it, in their order.
    pub fn against(&self, name: &str, baseline: i64) -> Result<Vec<Against>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id, result -> '$.against' FROM run
              WHERE result ->> '$.against.baseline' = ?1 AND result ->> '$.against.run' = ?2
                AND NOT result ->> '$.against.is_first'
              ORDER BY id",
        )?;
        let rows = statement.query_map(params![name, baseline], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let rows: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
        rows.iter().map(|(run, text)| read(*run, text)).collect()
    }

    /// When a run began, in seconds since 1970.
    pub fn begun_s(&self, run: i64) -> Result<i64, StoreError> {
        let sql = "SELECT begun_s FROM run WHERE id = ?1";
        Ok(self.connection.query_row(sql, [run], |row| row.get(0))?)
    }

    /// All runs, the latest first.
    pub fn runs(&self) -> Result<Vec<Listed>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT id, experiment, begun_s, verdict FROM run ORDER BY id DESC")?;
        let rows = statement.query_map([], |row| {
            Ok(Listed {
                id: row.get(0)?,
                experiment: row.get(1)?,
                begun_s: row.get(2)?,
                verdict: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// A run with all that was found; none if there is no such run.
    pub fn run(&self, id: i64) -> Result<Option<Kept>, StoreError> {
        let found: Option<(Option<String>, Option<String>)> = self
            .connection
            .query_row("SELECT result, failure FROM run WHERE id = ?1", [id], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((result, failure)) = found else { return Ok(None) };
        let result = result.map(|text| read(id, &text)).transpose()?;
        let mut statement = self
            .connection
            .prepare("SELECT report FROM probe_report WHERE run_id = ?1 ORDER BY rowid")?;
        let texts = statement.query_map([id], |row| row.get::<_, String>(0))?;
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        let reports = texts.iter().map(|text| read(id, text)).collect::<Result<_, _>>()?;
        let blocks: i64 = self.connection.query_row(
            "SELECT count(*) FROM block WHERE run_id = ?1",
            [id],
            |row| row.get(0),
        )?;
        Ok(Some(Kept { id, result, reports, blocks: blocks.unsigned_abs(), failure }))
    }
}

/// The digest of all that a finished run holds, as it is stored.
fn content(connection: &Connection, run: i64, result: &str) -> Result<[u8; 32], StoreError> {
    let texts = |sql: &str| -> Result<Vec<String>, StoreError> {
        let mut statement = connection.prepare(sql)?;
        let texts = statement.query_map([run], |row| row.get(0))?;
        Ok(texts.collect::<Result<_, _>>()?)
    };
    let reports = texts("SELECT report FROM probe_report WHERE run_id = ?1 ORDER BY probe")?;
    let blocks = texts("SELECT record FROM block WHERE run_id = ?1 ORDER BY number")?;
    let parts = std::iter::once(result).chain(reports.iter().chain(&blocks).map(String::as_str));
    let parts: Vec<&[u8]> = parts.map(str::as_bytes).collect();
    Ok(of_parts(&parts))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// A file, and what SQLite would take back of it.
fn copy_with_journal(from: &Path, to: &Path) -> Result<(), StoreError> {
    let journal_of = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push("-journal");
        PathBuf::from(name)
    };
    let copy = |from: &Path, to: &Path| fs::copy(from, to).map(drop);
    copy(from, to)
        .and_then(|()| copy(&journal_of(from), &journal_of(to)))
        .map_err(StoreError::NoCopy)
}

/// A value of ours as text; none of them can fail.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, text and lists can always be written")
}

fn read<T: DeserializeOwned>(run: i64, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Unreadable { run, source })
}

#[cfg(test)]
mod tests;
