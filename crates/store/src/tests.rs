//! Tests of the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use hopcost_core::{
    Against, BlockRecord, Cell, CellResult, Code, CpuId, CpuSet, DistanceClass, Distances,
    Disturbance, Effort, Estimate, ExperimentResult, Headline, Histogram, Known, Limits, Locality,
    Lookups, Machine, Metric, NodeId, NodeSet, Observation, Outcome, PageSize, Phase, Place,
    ProbeReport, Proof, ProofMethod, Proved, Spread, Trial, Unit, Verdict, Virtualization, Window,
    gauge,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::{json, read};
use crate::{KeptCall, Listed, NewRun, Resumable, Store, StoreError, Whose, host_key, schema};

fn none<T>() -> Known<T> {
    Known::missing(Code::NotMeasured, "a test")
}

fn machine() -> Machine {
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
        distances: Distances {
            nodes: Vec::new(),
            firmware: none(),
            hmat: none(),
            classes: Vec::new(),
            ladder: Vec::new(),
        },
        limits: Limits {
            cpus: CpuSet::new(),
            nodes: NodeSet::new(),
            cgroup: none(),
            cpu_quota: none(),
            memory_bytes: none(),
            memory_used_bytes: none(),
            locked_bytes: none(),
            open_files: none(),
        },
        virtualization: Virtualization { guest: none(), hypervisor: none(), container: none() },
        devices: Vec::new(),
        notes: Vec::new(),
    }
}

/// Start times of one host must be distinct.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1_800_000_000_000_000_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn here(run: &Whose) -> bool {
    run.host_key == Some(host_key("ours"))
}

fn begin(store: &Store) -> i64 {
    begin_on(store, None, next()).unwrap()
}

fn begin_on(store: &Store, target: Option<&str>, begun_ns: u64) -> Result<i64, StoreError> {
    let run = NewRun {
        experiment: "x",
        question: "How far?",
        target,
        effort: Effort::Quick,
        seed: u64::MAX,
        machine: &machine(),
        begun_ns,
        identity: Some("x at seed 1"),
        host_key: Some(host_key("ours")),
        boot_id: "boot",
        traits: &BTreeMap::from([("governor".to_owned(), Known::Is("performance".to_owned()))]),
    };
    store.begin(&run)
}

/// Within which a run differs from its baseline, or beyond which.
fn around(point: f64) -> Estimate {
    Estimate { point, low: point - 0.1, high: point + 0.1, level: 0.95, n: 8, n_effective: 8.0 }
}

fn estimate() -> Estimate {
    Estimate { point: 80.5, low: 79.0, high: 82.0, level: 0.95, n: 12, n_effective: 6.0 }
}

/// With a measured cell, with proof, and a missing one.
fn report() -> ProbeReport {
    let cell = |cpus| Cell {
        series: "reads".into(),
        row: Place::Node(NodeId(0)),
        column: Place::Node(NodeId(1)),
        class: Known::Is(DistanceClass::OtherSocket),
        unit: Unit::Nanoseconds,
        cpus,
    };
    let locality = Locality {
        asked: NodeId(1),
        spread: Vec::new(),
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
        starts: 1,
        contended: 0,
        probe: "latency".into(),
        question: "How long?".into(),
        effort: Effort::Quick,
        seed: 1,
        rounds: 6,
        seconds: 1.5,
        interrupted: false,
        cells: vec![
            CellResult {
                starts: Vec::new(),
                occasion: None,
                cell: cell(Known::Is(vec![CpuId(3)])),
                outcome: Outcome::Measured { estimate: estimate(), spread },
                proof: Known::Is([proof.clone(), proof]),
                dropped: BTreeMap::from([(Disturbance::Stolen, 2)]),
                counters: BTreeMap::from([("spins".into(), 7)]),
            },
            CellResult {
                starts: Vec::new(),
                occasion: None,
                cell: cell(Known::missing(Code::OffLine, "it is off-line")),
                outcome: Outcome::Missing(Code::NotMeasured.because("it is off-line")),
                proof: Known::missing(Code::OffLine, "it is off-line"),
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
        target: Known::missing(Code::NotApplicable, "the hardware alone"),
        verdict: Verdict::Measured,
        reason: Code::NotMeasured.because("nothing to compare"),
        estimate: Known::Is(Headline {
            of: "reads".into(),
            unit: Unit::Nanoseconds,
            estimate: estimate(),
            occasion: None,
        }),
        proof: vec![Proved { claim: "pages".into(), least: 0.99, found: 0.999 }],
        emulated: false,
        planted: None,
        details: None,
        against: None,
        seconds: 1.5,
    }
}

fn place() -> (TempDir, PathBuf) {
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
    let kept = Store::open_to_read(&path).unwrap().run(run).unwrap().unwrap();
    assert_eq!(kept.result, Some(result()));
    assert_eq!(kept.reports, [report()]);
}

#[test]
fn a_run_that_was_killed_leaves_what_it_had() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = begin(&store);
    store.add_report(run, &report()).unwrap();
    // As after a kill, only what is on disk counts.
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
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?)))
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
    fs::write(&path, "these are my notes, and they are no database at all. ".repeat(40)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Damaged(_))));
    assert_eq!(fs::read(&path).unwrap(), before);

    let (_dir, path) = place();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign)));
    assert!(matches!(Store::open_to_read(&path), Err(StoreError::Foreign)));
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
    assert!(matches!(Store::open_to_read(&path), Err(StoreError::Absent)));
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

fn block(number: u64) -> BlockRecord {
    let trial = Trial {
        number,
        phase: Phase::Fresh,
        unit: number / 2,
        streams: 8,
        binding: 1,
        level: 1,
        baseline_outside: true,
    };
    let window = |tested| Window {
        tested,
        begin_s: 1.5,
        seconds: 0.2,
        streams_s: 0.2,
        calls: 40,
        errors: 1,
        first_error: Some("599 rows".into()),
        rate: 200.25,
        latency: {
            let mut latency = Histogram::default();
            latency.record(5_000_000);
            latency
        },
        lookups: Some(Lookups {
            acquisitions: BTreeMap::from([(NodeId(1), 9000)]),
            distinct_pages: BTreeMap::from([(NodeId(1), 500)]),
        }),
        planted: 0.03,
        proved: [(Metric::CommittedCalls, [7, 8])].into(),
        waited_s: 0.0,
        cpus: CpuSet::from_iter([CpuId(3)]),
        observations: vec![Observation {
            metric: gauge::CPU_USER_MS.name.into(),
            of: "cpu 3".into(),
            value: 190.0,
        }],
        objection: None,
        disturbed: Some(Disturbance::Stolen),
    };
    let windows = trial.arms().map(window).to_vec();
    BlockRecord { trial, windows, placement: none() }
}

#[test]
fn a_killed_comparison_is_found_again_with_its_blocks() {
    let (_dir, path) = place();
    let mut store = Store::open(&path).unwrap();
    let run = begin(&store);
    store.prepare(run, &vec![1.5, 2.5]).unwrap();
    let calls = [KeptCall { place: 2, stream: 7, due_sent_done_ns: [10, 20, 30] }];
    store.add_block(run, &block(0), &calls).unwrap();
    store.add_block(run, &block(1), &[]).unwrap();
    std::mem::forget(store);
    let mut store = Store::open(&path).unwrap();
    let Resumable::Here(found) =
        store.unfinished::<Vec<f64>>(|it| it == "x at seed 1", here).unwrap()
    else {
        panic!("it was begun here");
    };
    assert_eq!((found.id, found.preparation), (run, Some(vec![1.5, 2.5])));
    assert_eq!(found.blocks, [block(0), block(1)]);
    assert!(matches!(store.add_block(run, &block(1), &[]), Err(StoreError::Taken)));
    let count =
        |sql: &str| -> f64 { store.connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert!((count("SELECT sum(rate) FROM block_window WHERE tested") - 801.0).abs() < 1e-9);
    assert!(
        (count("SELECT sum(value) FROM observation WHERE \"of\" = 'cpu 3'") - 1520.0).abs() < 1e-9
    );
    assert!((count("SELECT CAST(sum(done_ns - due_ns) AS REAL) FROM call") - 20.0).abs() < 1e-9);
    let resumable =
        |identity: &str| store.unfinished::<Vec<f64>>(|it| it == identity, here).unwrap();
    assert!(matches!(resumable("y"), Resumable::None));
    store.finish(run, &result()).unwrap();
    assert!(matches!(resumable("x at seed 1"), Resumable::None));
}

#[test]
fn a_run_of_another_host_is_never_gone_on_with() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = begin(&store);
    let elsewhere = |run: &Whose| run.host_key == Some(host_key("another"));
    let found = store.unfinished::<Vec<f64>>(|it| it == "x at seed 1", elsewhere).unwrap();
    assert!(matches!(found, Resumable::Elsewhere(id, Some(host)) if id == run && host == "box"));
    store.finish(run, &result()).unwrap();
    let found = store.unfinished::<Vec<f64>>(|it| it == "x at seed 1", elsewhere).unwrap();
    assert!(matches!(found, Resumable::None));
}

#[test]
fn runs_are_told_apart_and_what_they_hold_has_a_digest() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let (one, other) = (begin(&store), begin(&store));
    let of = |column: &str, run: i64| -> Option<Vec<u8>> {
        let sql = format!("SELECT {column} FROM run WHERE id = ?1");
        store.connection.query_row(&sql, [run], |row| row.get(0)).unwrap()
    };
    assert_ne!(of("uid", one), of("uid", other));
    assert!(begin_on(&store, None, 7).is_ok());
    assert!(matches!(begin_on(&store, None, 7), Err(StoreError::Taken)), "it is the same run");
    assert_eq!(of("content", one), None, "it is not finished");
    store.finish(one, &result()).unwrap();
    store.add_report(other, &report()).unwrap();
    store.finish(other, &result()).unwrap();
    assert_eq!(of("content", one).unwrap().len(), 32);
    assert_ne!(of("content", one), of("content", other));
    let text = |column: &str| -> String {
        let sql = format!("SELECT {column} FROM run WHERE id = ?1");
        store.connection.query_row(&sql, [one], |row| row.get(0)).unwrap()
    };
    assert_eq!(text("traits"), r#"{"governor":"performance"}"#);
    assert_eq!(text("reason_code"), result().reason.code().name());
}

fn finished(store: &Store, target: &str, name: &str, is_first: bool) -> (i64, ExperimentResult) {
    let worse = if is_first {
        Known::missing(Code::NotMeasured, "it is the first")
    } else {
        Known::Is(around(0.0))
    };
    compared(store, target, name, worse)
}

fn compared(
    store: &Store,
    target: &str,
    name: &str,
    worse: Known<Estimate>,
) -> (i64, ExperimentResult) {
    let id = begin_on(store, Some(target), next()).unwrap();
    let against = Against {
        baseline: name.into(),
        run: id,
        begun_s: 1_800_000_000,
        is_first: worse.get().is_none(),
        worse,
        dearer: Known::Is(estimate()),
        notes: vec!["two starts".into()],
    };
    let result = ExperimentResult { against: Some(against), ..result() };
    store.finish(id, &result).unwrap();
    (id, result)
}

#[test]
fn the_first_run_of_a_name_is_its_baseline_and_stays_it() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    assert!(store.baseline("main", "x", "null:").unwrap().is_none());
    let (first, result) = finished(&store, "null:", "main", true);
    finished(&store, "null:", "main", true);
    let (later, of_later) = finished(&store, "null:", "main", false);
    let (other, _) = finished(&store, "sqlite:", "main", true);
    let kept = store.baseline("main", "x", "null:").unwrap().unwrap();
    assert_eq!((kept.run, kept.begun_s), (first, 1_800_000_000));
    assert_eq!((kept.identity.as_str(), &kept.result), ("x at seed 1", &result));
    assert!(kept.machine.contains("box"));
    assert_eq!(store.begun_s(first).unwrap(), 1_800_000_000);
    assert_eq!(store.baseline("main", "x", "sqlite:").unwrap().unwrap().run, other);
    assert!(store.baseline("next", "x", "null:").unwrap().is_none());
    let beside = of_later.against.unwrap();
    assert_eq!(store.compared_with("main", beside.run).unwrap(), [later]);
    assert_eq!(store.compared_with("main", first).unwrap(), [0; 0]);
    assert_eq!(store.run(first).unwrap().unwrap().result, Some(result));
}

#[test]
fn a_run_that_differs_from_its_baseline_does_not_show_how_equal_runs_differ() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    for (worse, counts) in [(-0.3, 0), (-0.05, 1), (0.05, 1), (0.3, 0)] {
        let (run, _) = compared(&store, "null:", "main", Known::Is(around(worse)));
        assert_eq!(store.compared_with("main", run).unwrap().len(), counts, "{worse}");
    }
}

#[test]
fn a_result_without_a_baseline_in_it_can_be_read() {
    let text = json(&result()).replace(",\"against\":null", "");
    assert!(!text.contains("against"));
    assert_eq!(read::<ExperimentResult>(1, &text).unwrap(), result());
}

#[test]
fn a_run_keeps_the_machine_that_it_ran_on() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = begin(&store);
    let header = store.header(run).unwrap().unwrap();
    assert_eq!((header.experiment.as_str(), header.seed), ("x", u64::MAX));
    assert_eq!(json(header.machine.get().unwrap()), json(&machine()));
    store.connection.execute("UPDATE run SET machine = '{}'", []).unwrap();
    let machine = store.header(run).unwrap().unwrap().machine;
    assert_eq!(machine.reason().unwrap().code(), Code::NotStored, "{machine:?}");
    assert!(store.header(99).unwrap().is_none());
}

fn what_is_there(path: &Path) -> (Vec<u8>, Vec<std::ffi::OsString>) {
    let names = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    (fs::read(path).unwrap(), names)
}

#[test]
fn a_reason_without_a_code_is_read_as_one() {
    let kept: Known<u64> = serde_json::from_str(r#"{"missing": "nobody looked"}"#).unwrap();
    let reason = kept.reason().unwrap();
    assert_eq!((reason.code(), reason.as_str()), (Code::Uncoded, "nobody looked"));
}

#[test]
fn a_store_that_was_left_in_the_middle_of_a_write_is_read_as_it_was_before() {
    let (dir, path) = place();
    let store = Store::open(&path).unwrap();
    begin(&store);
    // Exceed the cache, so that pages are written before the transaction ends.
    store.connection.pragma_update(None, "cache_size", 1).unwrap();
    store.connection.execute_batch("BEGIN").unwrap();
    for _ in 0..200 {
        begin(&store);
    }
    let left = dir.path().join("left.db");
    fs::copy(&path, &left).unwrap();
    fs::copy(dir.path().join("hopcost.db-journal"), dir.path().join("left.db-journal")).unwrap();
    store.connection.execute_batch("ROLLBACK").unwrap();
    let before = what_is_there(&left);
    assert_eq!(Store::open_to_read(&left).unwrap().runs().unwrap().len(), 1);
    assert_eq!(what_is_there(&left), before);
}

fn answers(path: &Path) -> usize {
    let Ok(store) = Store::open_to_read(path) else { return 0 };
    let runs = store.runs().unwrap_or_default();
    assert!(runs.len() < 1000, "{} of two runs", runs.len());
    let of_runs = runs.iter().flat_map(|Listed { id, .. }| {
        [
            store.run(*id).is_ok_and(|run| run.is_some()),
            store.header(*id).is_ok_and(|header| header.is_some()),
            store.blocks(*id).is_ok_and(|blocks| !blocks.is_empty()),
            store.compared_with("main", *id).is_ok(),
            store.begun_s(*id).is_ok(),
        ]
    });
    let baseline = store.baseline("main", "x", "null:").is_ok_and(|found| found.is_some());
    let unfinished = store.unfinished::<Vec<f64>>(|_| true, here).is_ok();
    of_runs.chain([baseline, unfinished]).filter(|is_answered| *is_answered).count()
}

#[test]
fn a_damaged_store_is_read_as_far_as_it_goes() {
    let (dir, path) = place();
    let mut store = Store::open(&path).unwrap();
    let (run, _) = finished(&store, "null:", "main", true);
    store.add_report(run, &report()).unwrap();
    let other = begin(&store);
    store.prepare(other, &vec![1.5, 2.5]).unwrap();
    let calls = [KeptCall { place: 2, stream: 7, due_sent_done_ns: [10, 20, 30] }];
    store.add_block(other, &block(0), &calls).unwrap();
    drop(store);
    let original = fs::read(&path).unwrap();
    let of_whole = answers(&path);
    let damaged = dir.path().join("damaged.db");
    let mut dice = Rng::with_seed(8);
    let (mut partly, mut refused) = (0, 0);
    for _ in 0..200 {
        let mut bytes = original.clone();
        for _ in 0..dice.usize(1..20) {
            let from = dice.usize(0..=bytes.len());
            let to = dice.usize(from..=bytes.len().min(from + 64));
            match dice.u8(0..32) {
                0 => bytes.truncate(from),
                1 => drop(bytes.drain(from..to)),
                2 => bytes.copy_within(from..to, 0),
                3 => bytes.extend_from_within(from..),
                _ => bytes.get_mut(from).into_iter().for_each(|byte| *byte ^= 1 << dice.u8(0..8)),
            }
        }
        fs::write(&damaged, bytes).unwrap();
        match answers(&damaged) {
            0 => refused += 1,
            answers => partly += usize::from(answers < of_whole),
        }
    }
    assert!(partly > 20 && refused > 20, "{partly} were read in part, {refused} not at all");
}
