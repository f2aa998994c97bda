//! Reads and writes the file of a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopcost_core::{BlockRecord, Effort, ExperimentResult, ProbeReport, Trial};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::digest::{Key, of_parts};
use crate::error::StoreError;
use crate::kept::{
    Baseline, Kept, KeptCall, KeptFigure, Listed, NewRun, Resumable, Unfinished, Whose,
};
use crate::schema;

/// For another process's lock on the file.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
    _copy: Option<TempDir>,
}

impl Store {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::open_with(path, flags)
    }

    /// Never changes the file: an older one, or one with a leftover journal, is read from a copy.
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
            // SQLite must roll back the leftover journal, which is a write.
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn begin(&self, run: &NewRun<'_>) -> Result<i64, StoreError> {
        self.connection.execute(
            "INSERT INTO run (experiment, question, target, host, effort, seed, hopcost_version,
                              machine, begun_s, identity, uid, host_key, traits)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                run.experiment,
                run.question,
                run.target,
                run.machine.host.get(),
                json(&run.effort).trim_matches('"'),
                run.seed.cast_signed(),
                env!("CARGO_PKG_VERSION"),
                json(run.machine),
                (run.begun_ns / 1_000_000_000).cast_signed(),
                run.identity,
                run.uid(),
                run.host_key,
                json(run.traits)
            ],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    pub fn add_report(&self, run: i64, report: &ProbeReport) -> Result<(), StoreError> {
        self.connection.execute(
            "INSERT INTO probe_report (run_id, probe, report) VALUES (?1, ?2, ?3)",
            params![run, report.probe, json(report)],
        )?;
        Ok(())
    }

    pub fn prepare(&self, run: i64, preparation: &impl Serialize) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE run SET preparation = ?2 WHERE id = ?1",
            params![run, json(preparation)],
        )?;
        Ok(())
    }

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
            let number = number.cast_signed();
            insert.execute(params![run, number, place, call.stream, due, sent, done])?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    /// Blocks from this number on are measured anew.
    pub fn forget_from(&self, run: i64, number: u64) -> Result<(), StoreError> {
        let transaction = self.connection.unchecked_transaction()?;
        for (table, column) in [("block", "number"), ("call", "block")] {
            let sql = format!("DELETE FROM {table} WHERE run_id = ?1 AND {column} >= ?2");
            transaction.execute(&sql, params![run, number.cast_signed()])?;
        }
        Ok(transaction.commit()?)
    }

    pub fn blocks(&self, run: i64) -> Result<Vec<BlockRecord>, StoreError> {
        let records = texts(&self.connection, BLOCKS, run)?;
        records.iter().map(|text| read(run, text)).collect()
    }

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

    /// The first finished run with a baseline's name becomes that baseline.
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
            // Later runs do not take over the name.
            transaction.execute(
                "INSERT INTO baseline (name, experiment, target, run_id)
                 SELECT ?2, experiment, target, id FROM run WHERE id = ?1
                 ON CONFLICT DO NOTHING",
                params![run, first.baseline],
            )?;
        }
        Ok(transaction.commit()?)
    }

    pub fn fail(&self, run: i64, why: &str) -> Result<(), StoreError> {
        self.connection.execute("UPDATE run SET failure = ?2 WHERE id = ?1", params![run, why])?;
        Ok(())
    }

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

    /// The finished runs that agree with this baseline, oldest first: one that differs beyond its
    /// interval is what a baseline is there to find, and no measure of how runs differ.
    pub fn compared_with(&self, name: &str, baseline: i64) -> Result<Vec<i64>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id FROM run
              WHERE result ->> '$.against.baseline' = ?1 AND result ->> '$.against.run' = ?2
                AND NOT result ->> '$.against.is_first'
                AND result ->> '$.against.worse.low' <= 0 AND result ->> '$.against.worse.high' >= 0
              ORDER BY id",
        )?;
        let rows = statement.query_map(params![name, baseline], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Figures of this host, oldest first. Those of other versions and efforts are other figures.
    pub fn occasions(&self, host: &Key, effort: Effort) -> Result<Vec<KeptFigure>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT figure, identity, point FROM occasion
              WHERE host_key = ?1 AND effort = ?2 AND hopcost_version = ?3 ORDER BY run_id",
        )?;
        let effort = json(&effort);
        let version = env!("CARGO_PKG_VERSION");
        let rows = statement
            .query_map(params![host, effort.trim_matches('"'), version], |row| {
                Ok(KeptFigure { figure: row.get(0)?, identity: row.get(1)?, point: row.get(2)? })
            })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Seconds since 1970.
    pub fn begun_s(&self, run: i64) -> Result<i64, StoreError> {
        let sql = "SELECT begun_s FROM run WHERE id = ?1";
        Ok(self.connection.query_row(sql, [run], |row| row.get(0))?)
    }

    pub fn runs(&self) -> Result<Vec<Listed>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT id, experiment, begun_s, verdict, target,
                    (SELECT json_group_array(name) FROM baseline WHERE run_id = id)
               FROM run ORDER BY id DESC",
        )?;
        let rows = statement.query_map([], |row| {
            let names: String = row.get(5)?;
            Ok(Listed {
                id: row.get(0)?,
                experiment: row.get(1)?,
                begun_s: row.get(2)?,
                verdict: row.get(3)?,
                target: row.get(4)?,
                baselines: serde_json::from_str(&names).unwrap_or_default(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn run(&self, id: i64) -> Result<Option<Kept>, StoreError> {
        let found: Option<(Option<String>, Option<String>)> = self
            .connection
            .query_row("SELECT result, failure FROM run WHERE id = ?1", [id], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((result, failure)) = found else { return Ok(None) };
        let result = result.map(|text| read(id, &text)).transpose()?;
        let sql = "SELECT report FROM probe_report WHERE run_id = ?1 ORDER BY rowid";
        let reports = texts(&self.connection, sql, id)?;
        let reports = reports.iter().map(|text| read(id, text)).collect::<Result<_, _>>()?;
        let sql = "SELECT count(*) FROM block WHERE run_id = ?1";
        let blocks: i64 = self.connection.query_row(sql, [id], |row| row.get(0))?;
        Ok(Some(Kept { id, result, reports, blocks: blocks.unsigned_abs(), failure }))
    }
}

fn content(connection: &Connection, run: i64, result: &str) -> Result<[u8; 32], StoreError> {
    let sql = "SELECT report FROM probe_report WHERE run_id = ?1 ORDER BY probe";
    let reports = texts(connection, sql, run)?;
    let blocks = texts(connection, BLOCKS, run)?;
    let parts = std::iter::once(result).chain(reports.iter().chain(&blocks).map(String::as_str));
    let parts: Vec<&[u8]> = parts.map(str::as_bytes).collect();
    Ok(of_parts(&parts))
}

const BLOCKS: &str = "SELECT record FROM block WHERE run_id = ?1 ORDER BY number";

fn texts(connection: &Connection, sql: &str, run: i64) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(sql)?;
    let texts = statement.query_map([run], |row| row.get(0))?;
    Ok(texts.collect::<Result<_, _>>()?)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

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

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, text and lists can always be written")
}

pub(crate) fn read<T: DeserializeOwned>(run: i64, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Unreadable { run, source })
}
