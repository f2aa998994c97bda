//! What hopcost measured, kept in one SQLite file that any SQLite client can query.
//!
//! RULE: the only owner of the schema. A run is written down when it begins and every part of it when
//! it is finished, each in a transaction of its own that is on disk before the next part starts; so a
//! killed run leaves what it had, and a report never needs a re-run.

mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hopcost_core::{Effort, ExperimentResult, Machine, ProbeReport};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use thiserror::Error;

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
    /// Seconds since 1970.
    pub begun_s: i64,
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
}

impl Store {
    /// Opens the store, or makes one.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::open_with(path, flags)
    }

    /// Opens a store that is there.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent);
        }
        Self::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let mut connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema::migrate(&mut connection)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that a run begins; its number.
    pub fn begin(&self, run: &NewRun<'_>) -> Result<i64, StoreError> {
        let host = run.machine.host.get();
        let machine = json(run.machine);
        self.connection.execute(
            "INSERT INTO run (experiment, question, target, host, effort, seed, hopcost_version,
                              machine, begun_s)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                run.experiment,
                run.question,
                run.target,
                host,
                json(&run.effort).trim_matches('"'),
                run.seed.cast_signed(),
                env!("CARGO_PKG_VERSION"),
                machine,
                run.begun_s
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

    /// Writes down how a run ended.
    pub fn finish(&self, run: i64, result: &ExperimentResult) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE run SET seconds = ?2, verdict = ?3, reason = ?4, result = ?5 WHERE id = ?1",
            params![
                run,
                result.seconds,
                result.verdict.to_string(),
                result.reason.as_str(),
                json(result)
            ],
        )?;
        Ok(())
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
        let result: Option<Option<String>> = self
            .connection
            .query_row("SELECT result FROM run WHERE id = ?1", [id], |row| row.get(0))
            .optional()?;
        let Some(result) = result else { return Ok(None) };
        let result = result.map(|text| read(id, &text)).transpose()?;
        let mut statement = self
            .connection
            .prepare("SELECT report FROM probe_report WHERE run_id = ?1 ORDER BY rowid")?;
        let texts = statement.query_map([id], |row| row.get::<_, String>(0))?;
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        let reports = texts.iter().map(|text| read(id, text)).collect::<Result<_, _>>()?;
        Ok(Some(Kept { id, result, reports }))
    }
}

/// A value of ours as text; none of them can fail.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("numbers, text and lists can always be written")
}

fn read<T: serde::de::DeserializeOwned>(run: i64, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Unreadable { run, source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hopcost_core::{
        Cell, CellResult, Estimate, Headline, Known, Locality, NodeId, Outcome, PageSize, Place,
        Proof, ProofMethod, Proved, Spread, Unit, Verdict,
    };

    use super::*;

    fn machine() -> Machine {
        let none = || Known::missing("a test");
        Machine {
            version: 1,
            host: Known::Is("box".into()),
            kernel: none(),
            processor: none(),
            page_bytes: 4096,
            sockets: Vec::new(),
            cpus: Vec::new(),
            caches: Vec::new(),
            nodes: Vec::new(),
            distances: hopcost_core::Distances {
                nodes: Vec::new(),
                firmware: Known::missing("a test"),
                hmat: Known::missing("a test"),
                classes: Vec::new(),
                ladder: Vec::new(),
            },
            limits: hopcost_core::Limits {
                cpus: hopcost_core::CpuSet::new(),
                nodes: hopcost_core::NodeSet::new(),
                cgroup: none(),
                cpu_quota: Known::missing("a test"),
                memory_bytes: Known::missing("a test"),
                memory_used_bytes: Known::missing("a test"),
                locked_bytes: Known::missing("a test"),
                open_files: Known::missing("a test"),
            },
            virtualization: hopcost_core::Virtualization {
                guest: Known::missing("a test"),
                hypervisor: none(),
                container: none(),
            },
            devices: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn begin(store: &Store) -> i64 {
        let run = NewRun {
            experiment: "x",
            question: "How far?",
            target: None,
            effort: Effort::Quick,
            seed: u64::MAX,
            machine: &machine(),
            begun_s: 1_800_000_000,
        };
        store.begin(&run).unwrap()
    }

    fn estimate() -> Estimate {
        Estimate { point: 80.5, low: 79.0, high: 82.0, level: 0.95, n: 12, n_effective: 6.0 }
    }

    /// With one measured cell, proved, and one missing.
    fn report() -> ProbeReport {
        let cell = |cpus| Cell {
            series: "reads".into(),
            row: Place::Node(NodeId(0)),
            column: Place::Node(NodeId(1)),
            class: Known::Is(hopcost_core::DistanceClass::OtherSocket),
            unit: Unit::Nanoseconds,
            cpus,
        };
        let locality = Locality {
            asked: NodeId(1),
            bound: true,
            pages_by_node: BTreeMap::from([(NodeId(0), 1), (NodeId(1), 999)]),
            pages_unknown: 0,
            method: ProofMethod::MovePages,
            page_size: PageSize::Transparent,
            page_size_share: 0.5,
        };
        let proof = Proof { memory: Known::Is(vec![locality]) };
        let spread = Spread { min: 70.0, p5: 75.0, median: 80.5, p95: 90.0, max: 99.0 };
        ProbeReport {
            probe: "latency".into(),
            question: "How long?".into(),
            effort: Effort::Quick,
            seed: 1,
            rounds: 6,
            seconds: 1.5,
            interrupted: false,
            cells: vec![
                CellResult {
                    cell: cell(Known::Is(vec![hopcost_core::CpuId(3)])),
                    outcome: Outcome::Measured { estimate: estimate(), spread },
                    proof: Known::Is([proof.clone(), proof]),
                    dropped: BTreeMap::from([(hopcost_core::Disturbance::Stolen, 2)]),
                    counters: BTreeMap::from([("spins".into(), 7)]),
                },
                CellResult {
                    cell: cell(Known::missing("it is off-line")),
                    outcome: Outcome::Missing("it is off-line".into()),
                    proof: Known::missing("it is off-line"),
                    dropped: BTreeMap::new(),
                    counters: BTreeMap::new(),
                },
            ],
            warnings: Vec::new(),
        }
    }

    fn result() -> ExperimentResult {
        ExperimentResult {
            version: 1,
            experiment: "x".into(),
            question: "How far?".into(),
            target: Known::missing("the hardware alone"),
            verdict: Verdict::Measured,
            reason: "nothing to compare".into(),
            estimate: Known::Is(Headline {
                of: "reads".into(),
                unit: Unit::Nanoseconds,
                estimate: estimate(),
            }),
            proof: vec![Proved { claim: "pages".into(), least: 0.99, found: 0.999 }],
            emulated: false,
            planted: None,
            seconds: 1.5,
        }
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hopcost.db");
        (dir, path)
    }

    #[test]
    fn what_was_kept_comes_back_as_it_was() {
        let (_dir, path) = place();
        let store = Store::open(&path).unwrap();
        let run = begin(&store);
        store.add_report(run, &report()).unwrap();
        store.finish(run, &result()).unwrap();
        drop(store);
        let kept = Store::open_existing(&path).unwrap().run(run).unwrap().unwrap();
        assert_eq!(kept.result, Some(result()));
        assert_eq!(kept.reports, [report()]);
    }

    #[test]
    fn a_run_that_was_killed_leaves_what_it_had() {
        let (_dir, path) = place();
        let store = Store::open(&path).unwrap();
        let run = begin(&store);
        store.add_report(run, &report()).unwrap();
        // No drop, no close: as after a kill, only what is on disk counts.
        std::mem::forget(store);
        let store = Store::open(&path).unwrap();
        let kept = store.run(run).unwrap().unwrap();
        assert_eq!((kept.result, kept.reports.len()), (None, 1));
        assert_eq!(store.runs().unwrap()[0].verdict, None);
        let integrity: String =
            store.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(integrity, "ok");
    }

    type Figure = (String, String, String, Option<f64>, Option<i64>, Option<String>);

    #[test]
    fn figures_can_be_queried_without_us() {
        let (_dir, path) = place();
        let store = Store::open(&path).unwrap();
        let run = begin(&store);
        store.add_report(run, &report()).unwrap();
        let query = "SELECT series, class, unit, point, n, reason FROM cell ORDER BY reason";
        let mut statement = store.connection.prepare(query).unwrap();
        let rows: Vec<Figure> = statement
            .query_map([], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let of = |point, n, reason: Option<&str>| {
            let text = |t: &str| t.to_owned();
            (text("reads"), text("other-socket"), text("ns"), point, n, reason.map(text))
        };
        assert_eq!(rows, [of(Some(80.5), Some(12), None), of(None, None, Some("it is off-line"))]);
    }

    #[test]
    fn other_files_are_refused_and_left_as_they_are() {
        let (_dir, path) = place();
        std::fs::write(&path, "these are my notes, and they are no database at all. ".repeat(40))
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Damaged(_))));
        assert_eq!(std::fs::read(&path).unwrap(), before);

        let (_dir, path) = place();
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::Foreign)));
        assert!(matches!(Store::open_existing(&path), Err(StoreError::Foreign)));
    }

    #[test]
    fn a_newer_store_is_refused() {
        let (_dir, path) = place();
        let store = Store::open(&path).unwrap();
        store.connection.pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
        drop(store);
        let error = Store::open(&path).unwrap_err();
        assert!(error.to_string().contains("update hopcost"), "{error}");
    }

    #[test]
    fn absent_and_unwritable_places_are_named() {
        let (dir, path) = place();
        assert!(matches!(Store::open_existing(&path), Err(StoreError::Absent)));
        assert!(matches!(Store::open(&dir.path().join("no/such/x.db")), Err(StoreError::ReadOnly)));
    }

    #[test]
    fn a_full_disk_keeps_what_was_finished() {
        let (_dir, path) = place();
        let store = Store::open(&path).unwrap();
        let run = begin(&store);
        store.add_report(run, &report()).unwrap();
        let pages: i64 =
            store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        store.connection.pragma_update(None, "max_page_count", pages).unwrap();
        let mut large = report();
        large.probe = "bandwidth".into();
        large.question = "x".repeat(100_000).into();
        assert!(matches!(store.add_report(run, &large), Err(StoreError::Full)));
        assert_eq!(store.run(run).unwrap().unwrap().reports, [report()]);
    }
}
