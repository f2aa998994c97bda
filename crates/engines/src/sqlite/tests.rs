//! Tests of the whole target on small data.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use hopcost_core::{
    Answer, Audit, Bimodal, CopyChoice, Machine, Metric, NodeId, Policy, Reason, Request, Requests,
    Row, SessionChoice, Shape, Statement, Stream, Workload, WorkloadInfo, WorkloadSpec,
};
use hopcost_sys::{Root, topology};

use super::*;
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;

struct Questions {
    info: WorkloadInfo,
    statements: &'static [Statement],
}

const fn statement(name: &'static str, sql: &'static str, arguments: usize) -> Statement {
    Statement { name, sql, arguments, recompile: false, script: None }
}

const SCAN: Statement =
    statement("scan", "SELECT count(*), sum(resultset_size) FROM tran_stats", 0);
const ONE: Statement = statement(
    "one",
    "SELECT tran_count, server_config, NULL FROM tran_stats WHERE tran_begin = ?",
    1,
);
const JOIN: Statement = statement(
    "join",
    "SELECT server_config_id, thread_name_id, count(*) FROM tran_stats t JOIN dimension d USING \
     (server_config, thread_name, tran_type, tran_status, users, cpus) \
     WHERE tran_begin BETWEEN ? AND ? GROUP BY 1, 2",
    2,
);
const WRITE: Statement = statement("write", "DELETE FROM tran_stats", 0);
const MEAN: Statement = statement("mean", "SELECT avg(users) FROM tran_stats", 0);

const fn reads(tables: &'static [&'static str]) -> WorkloadInfo {
    WorkloadInfo { name: "questions", about: "statements of a test", tables }
}

const PLAIN: Questions = Questions { info: reads(&["tran_stats"]), statements: &[SCAN, ONE, MEAN] };

impl Workload for Questions {
    fn info(&self) -> &WorkloadInfo {
        &self.info
    }
    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec::of(self.statements.to_vec())
    }
    fn requests(&self, _shape: Shape, _stream: Stream) -> Box<dyn Requests> {
        unreachable!("a test asks itself")
    }
    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

struct Bench {
    dir: tempfile::TempDir,
    ground: Machine,
    machine: Machine,
    emulation: Option<Emulation>,
    heard: Vec<String>,
}

impl Bench {
    fn new(emulation: Option<Emulation>) -> Self {
        let ground = topology::read(&Root::live());
        // Two emulated nodes may have the same CPUs: the tests only name the node.
        let mut machine = ground.clone();
        if emulation.is_some() {
            let mut node = ground.nodes_with_cpus().next().unwrap().clone();
            machine.nodes = (0..2)
                .map(|id| {
                    node.id = NodeId(id);
                    node.clone()
                })
                .collect();
        }
        Self { dir: tempfile::tempdir().unwrap(), ground, machine, emulation, heard: Vec::new() }
    }

    fn homes(&self) -> Vec<NodeId> {
        if self.emulation.is_some() {
            return vec![NodeId(0), NodeId(1)];
        }
        let usable = self.ground.nodes_with_memory().filter(|node| node.usable);
        usable.take(2).map(|node| node.id).collect()
    }

    fn setup<'a>(&'a self, workload: &'a dyn Workload, rows: u64) -> Setup<'a> {
        Setup {
            machine: &self.machine,
            ground: &self.ground,
            dataset: Some(DATASETS[0]),
            workload,
            shape: Shape { rows, sliced: false },
            levels: &[],
            homes: self.homes().into_iter().map(Into::into).collect(),
            emulation: self.emulation,
            cache_dir: self.dir.path().to_owned(),
            address: "",
            sessions: 4,
            keep_data: false,
            allow_server_changes: false,
            promise: &|| Ok(()),
        }
    }

    fn open(&mut self, workload: &dyn Workload, rows: u64) -> Box<dyn Instance> {
        let mut heard = Vec::new();
        let setup = self.setup(workload, rows);
        let instance = Sqlite.open(&setup, &mut |loading| {
            heard.push(loading.what.to_owned());
            true
        });
        self.heard = heard;
        instance.unwrap()
    }

    fn file(&self) -> PathBuf {
        let files = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|e| e == "sqlite")).unwrap()
    }
}

fn seat(home: u32, at: u32) -> VariantSettings {
    VariantSettings { home: Some(NodeId(home)), at: Some(NodeId(at)), ..anywhere() }
}

fn anywhere() -> VariantSettings {
    VariantSettings::default()
}

fn ask(session: &mut dyn Session, statement: usize, arguments: [i64; 2]) -> Answer {
    let [a, b] = arguments;
    session.execute(&Request { statement, arguments: [a, b, 0, 0] }).unwrap()
}

fn plain(path: &Path, statement: Statement, arguments: [i64; 2]) -> Answer {
    use rusqlite::types::ValueRef;
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut prepared = connection.prepare(statement.sql).unwrap();
    let columns = prepared.column_count();
    let mut rows =
        prepared.query(rusqlite::params_from_iter(&arguments[..statement.arguments])).unwrap();
    let mut answer = Answer::default();
    while let Some(row) = rows.next().unwrap() {
        let digest = (0..columns).fold(Row::new(), |digest, n| match row.get_ref_unwrap(n) {
            ValueRef::Integer(value) => digest.integer(value),
            ValueRef::Text(text) => digest.text(std::str::from_utf8(text).unwrap()),
            ValueRef::Null => digest.null(),
            other => panic!("{other:?}"),
        });
        answer.add(digest);
    }
    answer
}

fn begin_us(number: i64) -> i64 {
    1_306_886_400_000_000 + 200 * number
}

#[test]
fn answers_are_those_of_plain_sqlite_on_the_same_file() {
    let joined =
        Questions { info: reads(&["tran_stats", "dimension"]), statements: &[SCAN, ONE, JOIN] };
    let mut bench = Bench::new(None);
    let instance = bench.open(&joined, 2000);
    let mut session = instance.first_session(&anywhere()).unwrap();
    let file = bench.file();
    let range = [begin_us(100), begin_us(1299)];
    for (n, statement) in [SCAN, ONE, JOIN].into_iter().enumerate() {
        let answer = ask(session.as_mut(), n, range);
        assert_eq!(answer, plain(&file, statement, range), "{}", statement.name);
        assert!(answer.rows > 0);
    }
    assert_eq!(ask(session.as_mut(), 2, range).rows, 200);
    let plans = instance.plans().unwrap();
    assert!(plans[1].contains("SEARCH tran_stats USING INTEGER PRIMARY KEY"), "{plans:?}");
    assert!(plans[2].contains("dimension_1"), "{plans:?}");
    let identity = instance.identity();
    assert!(identity.contains("8 KiB pages; tran_stats, 2,000 rows"), "{identity}");
    let bytes = fs::metadata(&file).unwrap().len() as f64;
    let estimate = Sqlite.needs(&bench.setup(&joined, 2000)).home_bytes as f64;
    assert!((estimate / bytes - 1.0).abs() < 0.05, "{estimate} of {bytes}");
}

#[test]
fn look_ups_are_counted_by_node_and_each_page_once() {
    let mut bench = Bench::new(Some(Emulation::default()));
    let instance = bench.open(&PLAIN, 20_000);
    let pages = fs::metadata(bench.file()).unwrap().len() / u64::from(PAGE_BYTES);
    let mut session = instance.first_session(&seat(1, 0)).unwrap();
    for times in 1..3 {
        ask(session.as_mut(), 0, [0, 0]);
        let counted = session.counted();
        let lookups = counted.lookups.unwrap();
        assert_eq!(counted.planted, Duration::ZERO, "nothing was planted");
        assert_eq!(lookups.acquisitions.keys().collect::<Vec<_>>(), [&NodeId(1)]);
        let acquired = lookups.acquisitions[&NodeId(1)];
        assert!(acquired.abs_diff(pages) < 10, "{acquired} of {pages}, time {times}");
        let distinct = lookups.distinct_pages[&NodeId(1)];
        assert!(distinct.abs_diff(2 * pages) < 10, "{distinct} of {}", 2 * pages);
    }
    assert!(session.counted().lookups.unwrap().acquisitions.is_empty());
}

#[test]
fn what_was_planted_is_what_was_asked_for() {
    // A call owes many times its own duration, of which half a call may stay owed.
    const NS: f64 = 100_000.0;
    const CALLS: usize = 11;
    let mut bench = Bench::new(Some(Emulation { remote_ns: NS, ..Emulation::default() }));
    let instance = bench.open(&PLAIN, 20_000);
    for (at, planted) in [(0, true), (1, false)] {
        let mut session = instance.first_session(&seat(1, at)).unwrap();
        let mut paid_of_asked = || {
            ask(session.as_mut(), 0, [0, 0]);
            let counted = session.counted();
            let asked = NS * counted.lookups.unwrap().acquisitions[&NodeId(1)] as f64;
            counted.planted.as_nanos() as f64 / asked
        };
        let mut paid = [(); CALLS].map(|()| paid_of_asked());
        paid.sort_by(f64::total_cmp);
        // An interrupted call or repetition counts for more or less, but not half of them.
        let range = if planted { 0.75..=1.25 } else { 0.0..=0.0 };
        assert!(range.contains(&paid[CALLS / 2]), "{paid:?}");
    }
}

#[test]
fn a_share_of_remote_calls_is_slow() {
    let bimodal = Some(Bimodal { share: 0.5, times: 3.0 });
    let mut bench = Bench::new(Some(Emulation { bimodal, ..Emulation::default() }));
    let instance = bench.open(&PLAIN, 1000);
    let slow_calls = |at| {
        let mut session = instance.first_session(&seat(0, at)).unwrap();
        let mut slow = |_: &u32| {
            ask(session.as_mut(), 0, [0, 0]);
            session.counted().planted > Duration::ZERO
        };
        (0..200).filter(&mut slow).collect::<Vec<u32>>()
    };
    assert!(slow_calls(0).is_empty());
    let slow = slow_calls(1);
    assert!((60..140).contains(&slow.len()), "{} of 200", slow.len());
    assert_eq!(slow, slow_calls(1), "drawn from the seed");
}

#[test]
fn proofs_name_the_home_and_look_everywhere() {
    for emulation in [None, Some(Emulation { remote_ns: 1.0, ..Emulation::default() })] {
        let mut bench = Bench::new(emulation);
        let instance = bench.open(&PLAIN, 50_000);
        let pieces = fs::metadata(bench.file()).unwrap().len() / 4096;
        for look in [Look::Full, Look::Glance] {
            let proof = instance.prove(look).ok().unwrap();
            let asked: Vec<NodeId> = proof.iter().map(|locality| locality.asked).collect();
            assert_eq!(asked, bench.homes());
            for locality in proof {
                assert_eq!(locality.objection(), None);
                assert!(look == Look::Glance || locality.pages() >= pieces, "{locality:?}");
            }
        }
        for home in bench.homes() {
            let mut session = instance.first_session(&anywhere().on(home.into())).unwrap();
            ask(session.as_mut(), 0, [0, 0]);
            let lookups = session.counted().lookups.unwrap();
            assert_eq!(lookups.acquisitions.keys().collect::<Vec<_>>(), [&home]);
        }
    }
}

fn policies(bench: &Bench) -> Vec<(DataPlacement, VariantSettings)> {
    let first = bench.homes()[0];
    let (one, per_node) = (Some(first), Policy::PerNode);
    [(one, Policy::FirstTouch), (one, Policy::Bind), (one, per_node), (None, Policy::Interleave)]
        .into_iter()
        .map(|(node, policy)| {
            let home = DataPlacement { node, ..DataPlacement::default() }.by(policy);
            (home, VariantSettings { at: Some(first), ..anywhere() }.on(home))
        })
        .collect()
}

#[test]
fn each_policy_puts_the_data_where_it_says_and_proves_it() {
    for emulation in [None, Some(Emulation { remote_ns: 50_000.0, ..Emulation::default() })] {
        let bench = Bench::new(emulation);
        let all = policies(&bench);
        let mut setup = bench.setup(&PLAIN, 50_000);
        setup.homes = all.iter().map(|(home, _)| *home).collect();
        let instance = Sqlite.open(&setup, &mut |_| true).unwrap();
        for locality in instance.prove(Look::Full).get().unwrap() {
            assert_eq!(locality.objection(), None, "{locality:?}");
        }
        for (home, seat) in all {
            let mut session = instance.first_session(&seat).unwrap();
            // The second one is repeated: one alone may owe less than half of it.
            for _ in 0..2 {
                ask(session.as_mut(), 0, [0, 0]);
            }
            let counted = session.counted();
            let [there, pages] = counted.proved[&Metric::PagesInPlace];
            assert!(pages > 1000 && there * 100 >= pages * 99, "{home:?}: {there} of {pages}");
            assert_eq!(counted.proved[&Metric::AnsweredInPlace], [1, 1]);
            // Half of interleaved data is on the other node.
            let lookups = counted.lookups.unwrap().acquisitions;
            let near = lookups[&bench.homes()[0]] as f64 / lookups.values().sum::<u64>() as f64;
            let is_dealt_out = home.node.is_none() && emulation.is_some();
            let expected = if is_dealt_out { 0.5 } else { 1.0 };
            assert!(emulation.is_none() || (near - expected).abs() < 0.02, "{home:?}: {near}");
            assert_eq!(counted.planted.is_zero(), !is_dealt_out, "{home:?}");
        }
    }
}

#[test]
fn each_call_is_written_down_once_where_that_is_asked_for() {
    let mut bench = Bench::new(None);
    let instance = bench.open(&PLAIN, 3000);
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let mut sessions = [0, 1].map(|_| {
            instance
                .first_session(&VariantSettings {
                    session: SessionChoice { audit: Some(audit) },
                    ..anywhere()
                })
                .unwrap()
        });
        for calls in [1, 300] {
            for session in &mut sessions {
                for _ in 0..calls {
                    ask(session.as_mut(), 0, [0, 0]);
                }
                let found = session.counted().proved[&Metric::AuditedAsAsked];
                assert_eq!(found, [calls, calls], "{audit:?}");
            }
        }
    }
    let mut silent = instance.first_session(&anywhere()).unwrap();
    assert!(!silent.counted().proved.contains_key(&Metric::AuditedAsAsked));
}

#[test]
fn instances_of_different_numbers_have_copies_of_their_own() {
    let bench = Bench::new(None);
    let mut setup = bench.setup(&PLAIN, 3000);
    let twins = [1, 2].map(|number| {
        DataPlacement::from(CopyChoice { instance: Some(number), ..CopyChoice::default() })
    });
    setup.homes = twins.to_vec();
    let instance = Sqlite.open(&setup, &mut |_| true).unwrap();
    assert_eq!(instance.prove(Look::Full).get().unwrap().len(), 2);
    let answers = twins.map(|home| {
        let mut session = instance.first_session(&anywhere().on(home)).unwrap();
        ask(session.as_mut(), 0, [0, 0])
    });
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_damaged_file_is_built_anew_and_a_good_one_used_again() {
    let mut bench = Bench::new(None);
    drop(bench.open(&PLAIN, 3000));
    assert!(bench.heard.iter().any(|what| what == "tran_stats: 3,000 rows"), "{:?}", bench.heard);
    let whole = fs::read(bench.file()).unwrap();
    drop(bench.open(&PLAIN, 3000));
    assert_eq!(bench.heard.len(), bench.homes().len(), "read only: {:?}", bench.heard);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let truncated = whole[..12].to_vec();
    for (damage, how) in [(truncated, "length 12 instead of"), (flipped, "checksum ")] {
        fs::write(bench.file(), damage).unwrap();
        let instance = bench.open(&PLAIN, 3000);
        let told = bench.heard.iter().find(|what| what.contains("building it anew"));
        assert!(told.is_some_and(|what| what.contains(how)), "{:?}", bench.heard);
        assert_eq!(ask(instance.first_session(&anywhere()).unwrap().as_mut(), 0, [0, 0]).rows, 1);
        assert_eq!(fs::read(bench.file()).unwrap().len(), whole.len());
    }
}

#[test]
fn who_interrupts_leaves_nothing_behind() {
    let bench = Bench::new(None);
    let setup = bench.setup(&PLAIN, 200_000);
    let mut calls = 0;
    let opened = Sqlite.open(&setup, &mut |_| {
        calls += 1;
        calls < 2
    });
    assert!(matches!(opened.err(), Some(TargetError::Interrupted)));
    assert_eq!(fs::read_dir(bench.dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_a_remedy() {
    let bench = Bench::new(None);
    let file = bench.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let setup = Setup { cache_dir: file.join("below"), ..bench.setup(&PLAIN, 100) };
    let error = Sqlite.open(&setup, &mut |_| true).err().unwrap().to_string();
    assert!(error.contains("file/below") && error.contains("--cache-dir"), "{error}");
}

#[test]
fn threads_share_an_image() {
    let mut bench = Bench::new(None);
    let instance = bench.open(&PLAIN, 20_000);
    let instance = instance.as_ref();
    let answers = std::thread::scope(|scope| {
        let threads = [0, 1].map(|_| {
            scope.spawn(|| {
                let mut session = instance.first_session(&anywhere()).unwrap();
                let answer = ask(session.as_mut(), 0, [0, 0]);
                (answer, session.counted().lookups.unwrap())
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].0.rows, 1);
}

#[test]
fn writes_fractions_and_unknown_statements_are_refused_in_words() {
    let writing = Questions { info: reads(&["tran_stats"]), statements: &[WRITE, MEAN] };
    let mut bench = Bench::new(None);
    let instance = bench.open(&writing, 1000);
    let mut session = instance.first_session(&anywhere()).unwrap();
    for (statement, words) in [
        (0, "write: attempt to write a readonly database"),
        (1, "mean: answers are whole numbers and text, but column 1 is a floating-point number"),
        (2, "there is no statement 2"),
    ] {
        let error = session.execute(&Request { statement, arguments: [0; 4] }).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    let missing = anywhere().on(NodeId(4711).into());
    let error = instance.first_session(&missing).err().unwrap().to_string();
    assert_eq!(error, "there is no copy of the data on node 4711");
}

#[test]
fn a_statement_can_be_compiled_for_each_call_and_its_arguments_are_checked() {
    let fresh = &[Statement { recompile: true, ..ONE }];
    let mut bench = Bench::new(None);
    let instance = bench.open(&Questions { info: reads(&["tran_stats"]), statements: fresh }, 1000);
    let mut session = instance.first_session(&anywhere()).unwrap();
    for number in 0..3 {
        assert_eq!(ask(session.as_mut(), 0, [begin_us(number), 0]).rows, 1);
    }
    let wrong = &[Statement { arguments: 2, ..ONE }];
    let instance = bench.open(&Questions { info: reads(&["tran_stats"]), statements: wrong }, 1000);
    let error = instance.first_session(&anywhere()).err().unwrap().to_string();
    assert!(error.contains("announced with 2 arguments, and its text takes 1"), "{error}");
}

/// Workloads on other data sets: name, data set, scale, and a plan step with its number of
/// occurrences.
const SHIPPED: [(&str, &str, u64, &str, usize); 4] = [
    ("standard_oltp", "tpcc", 1, "SEARCH l USING PRIMARY KEY (ol_w_id=? AND ol_d_id=?", 3),
    ("augmented_oltp", "tpcc", 1, "SEARCH item USING INTEGER PRIMARY KEY (rowid<?)", 3),
    ("newest_unbounded", "archive_view", 5000, "SCAN t\n", 10),
    ("newest_bounded", "archive_view", 5000, "(stamped_at>?)", 10),
];

#[test]
fn shipped_workloads_are_answered_right_and_their_data_has_the_expected_size() {
    for (name, dataset, scale, step, times) in SHIPPED {
        let bench = Bench::new(None);
        let workload = *WORKLOADS.iter().find(|workload| workload.info().name == name).unwrap();
        let dataset = DATASETS.iter().copied().find(|known| known.name() == dataset);
        let setup = Setup { dataset, ..bench.setup(workload, scale) };
        let instance = Sqlite.open(&setup, &mut |_| true).unwrap();
        let plans = instance.plans().unwrap().join("\n");
        assert_eq!(plans.matches(step).count(), times, "{plans}");
        let mut session = instance.first_session(&anywhere()).unwrap();
        let stream = Stream { number: 0, of: 1, seed: 7 };
        let mut requests = workload.requests(setup.shape, stream);
        for _ in 0..200 {
            let request = requests.next();
            let answer = session.execute(&request).unwrap();
            workload.check(setup.shape, &request, &answer).unwrap();
        }
        let bytes = fs::metadata(bench.file()).unwrap().len() as f64;
        let estimate = Sqlite.needs(&setup).home_bytes as f64;
        assert!((estimate / bytes - 1.0).abs() < 0.06, "{name}: {estimate} of {bytes}");
    }
}

#[test]
fn a_workload_without_data_needs_no_data() {
    const NOTHING: &[Statement] = &[statement("nothing", "SELECT 1", 0)];
    let mut bench = Bench::new(None);
    let instance = bench.open(&Questions { info: reads(&[]), statements: NOTHING }, 1000);
    let mut session = instance.first_session(&anywhere()).unwrap();
    assert_eq!(ask(session.as_mut(), 0, [0, 0]).rows, 1);
    assert_eq!(session.counted().lookups.unwrap().acquisitions, BTreeMap::new());
}
