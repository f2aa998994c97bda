//! SQL Server target, on the server of `HOPCOST_TEST_SQLSERVER`; ignored without one.
#![allow(clippy::print_stderr)] // it says why it tries nothing

use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_core::{
    CallError, Console, Dataset, Instance, Metric, Request, Setup, Stream, TargetError,
    VariantSettings, Workload,
};
use hopcost_engines::console;
use hopcost_engines::sqlserver::address_of;
use hopcost_sys::affinity;

use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::named::{self, dataset, home, target, workload};

use super::Test;

const SERVER: &str = "HOPCOST_TEST_SQLSERVER";

pub const TESTS: &[Test] = &[
    ("sqlserver::tables_hold_what_they_were_made_of", tables_hold_what_they_were_made_of),
    ("sqlserver::every_question_is_answered_as_by_sqlite", every_question_is_answered_as_by_sqlite),
    ("sqlserver::loads_are_counted_once", loads_are_counted_once),
    ("sqlserver::it_is_encrypted_or_not_as_asked", it_is_encrypted_or_not_as_asked),
    ("sqlserver::who_may_not_come_in_is_told_so", who_may_not_come_in_is_told_so),
    ("sqlserver::what_is_kept_is_found_again_and_cleared", what_is_kept_is_found_again_and_cleared),
    ("sqlserver::one_hopcost_at_a_time", one_hopcost_at_a_time),
    ("sqlserver::whoever_hangs_up_ends_the_calls", whoever_hangs_up_ends_the_calls),
];

pub fn is_there() -> bool {
    let is_there = std::env::var_os(SERVER).is_some();
    if !is_there {
        eprintln!("not tried: SQL Server, as {SERVER}=//user:password@host:port/ names no server");
    }
    is_there
}

fn address() -> String {
    std::env::var(SERVER).unwrap()
}

/// Only one hopcost may use the server at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setup<'a>(
    dataset: &'a dyn Dataset,
    workload: &'a dyn Workload,
    rows: u64,
    address: &'a str,
) -> Setup<'a> {
    Setup {
        homes: Vec::new(),
        ..named::setup(dataset, workload, rows, address, &std::env::temp_dir())
    }
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Instance>, TargetError> {
    named::open("sqlserver", setup)
}

fn seat() -> VariantSettings {
    let cpu = affinity::mask().unwrap().last();
    VariantSettings {
        at: Some(home()),
        workers: cpu.into_iter().collect(),
        ..VariantSettings::default()
    }
}

fn tables_hold_what_they_were_made_of() {
    let _turn = turn();
    for (name, rows) in everything::ALL {
        // Only SQL Server has memory-optimized tables, and this one is empty.
        if name == "big_table_im" {
            continue;
        }
        let dataset = dataset(name);
        let (everything, made) = Everything::of(dataset, rows);
        let address = address();
        let setup = setup(dataset, &everything, rows, &address);
        let instance = open(&setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        everything.assert_is(&made, "sqlserver", &mut *session);
        drop(session);
        instance.close().unwrap();
    }
}

fn every_question_is_answered_as_by_sqlite() {
    let _turn = turn();
    for (data, name, rows) in [
        ("tran_stats", "reporting_p1", 20_000),
        ("tran_stats", "reporting_p2", 60_000),
        ("tpcc", "standard_oltp", 1),
        ("tpcc", "augmented_oltp", 1),
        ("tpcc", "point_select", 1),
        ("archive_view", "newest_bounded", 500),
        ("archive_view", "newest_unbounded", 500),
        ("insert_test", "single_row_commit", 1),
        ("nothing", "null_call", 1),
    ] {
        let (dataset, workload, address) = (dataset(data), workload(name), address());
        let setup = setup(dataset, workload, rows, &address);
        let instance = open(&setup).unwrap();
        named::answers(&*instance, &setup, &seat());
        instance.close().unwrap();
    }
}

fn loads_are_counted_once() {
    let _turn = turn();
    let (workload, address) = (workload("bulk_load"), address());
    let setup = setup(dataset("big_table_im"), workload, 1, &address);
    let instance = open(&setup).unwrap();
    let mut sessions =
        [0, 1].map(|stream| instance.session(&seat(), seat().of_stream(stream, 0)).unwrap());
    for session in &mut sessions {
        let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 0 });
        for _ in 0..2 {
            let request = requests.next();
            let answer = session.execute(&request).unwrap();
            workload.check(setup.shape, &request, &answer).unwrap();
        }
        assert_eq!(session.counted().proved[&Metric::RowsCounted], [10_000; 2]);
    }
    drop(sessions);
    instance.close().unwrap();
}

fn with(option: &str) -> String {
    let address = address();
    let between = if address.contains('?') { '&' } else { '?' };
    format!("{address}{between}{option}")
}

fn connected(given: &str) -> Result<Box<dyn Console>, String> {
    let address = address_of(given).map_err(|reason| reason.to_string())?;
    console(&address).map_err(|error| error.to_string())
}

fn it_is_encrypted_or_not_as_asked() {
    let _turn = turn();
    for (mode, encrypted) in [("disable", false), ("require", true)] {
        let mut wire = connected(&with(&format!("sslmode={mode}"))).unwrap();
        assert_eq!(wire.is_encrypted(), encrypted, "{mode}");
        let long = value(&mut *wire, "SELECT REPLICATE(CAST('x' AS varchar(max)), 100000)");
        assert_eq!(long.len(), 100_000, "{mode}");
    }
    let words = connected(&with("sslmode=verify-full")).err().unwrap();
    assert!(words.contains("sslrootcert"), "{words}");
}

fn who_may_not_come_in_is_told_so() {
    let words = connected(&with("password=certainly-wrong")).err().unwrap();
    assert!(words.to_lowercase().contains("password") || words.contains("18456"), "{words}");
    assert!(!words.contains("certainly-wrong"), "{words}");
    let words = connected("//sa:x@127.0.0.1:9/?connect_timeout=2").err().unwrap();
    assert!(words.contains("refused"), "{words}");
}

fn there() -> String {
    let mut wire = connected(&address()).unwrap();
    value(&mut *wire, "SELECT count(*) FROM sys.databases WHERE name = 'hopcost'")
}

fn value(wire: &mut dyn Console, sql: &str) -> String {
    wire.rows(sql).unwrap().into_iter().flatten().flatten().next().unwrap()
}

fn what_is_kept_is_found_again_and_cleared() {
    let _turn = turn();
    let (dataset, workload, address) = (dataset("tran_stats"), workload("reporting_p1"), address());
    let setup = setup(dataset, workload, 1_000, &address);
    let kept = Setup { keep_data: true, ..setup.clone() };
    open(&kept).unwrap().close().unwrap();
    assert_eq!(there(), "1");
    let mut loaded = Vec::new();
    let again = target("sqlserver").open(&setup, &mut |loading| {
        loaded.push(loading.what.to_owned());
        true
    });
    again.unwrap().close().unwrap();
    assert!(loaded.is_empty(), "{loaded:?}");
    assert_eq!(there(), "1");
    assert!(target("sqlserver").clear(&address).unwrap().contains("dropped"));
    assert_eq!(there(), "0");
    assert!(target("sqlserver").clear(&address).unwrap().contains("no database"));
    // Foreign databases are not touched.
    connected(&address).unwrap().rows("CREATE DATABASE hopcost").unwrap();
    let words = open(&setup).err().unwrap().to_string();
    assert!(words.contains("did not make"), "{words}");
    assert!(target("sqlserver").clear(&address).unwrap_err().as_str().contains("did not make"));
    connected(&address).unwrap().rows("DROP DATABASE hopcost").unwrap();
}

fn one_hopcost_at_a_time() {
    let _turn = turn();
    let (dataset, workload, address) = (dataset("tran_stats"), workload("reporting_p1"), address());
    let setup = setup(dataset, workload, 1_000, &address);
    let first = open(&setup).unwrap();
    let words = open(&setup).err().unwrap().to_string();
    assert!(words.contains("another hopcost"), "{words}");
    first.close().unwrap();
    assert_eq!(there(), "0");
}

fn whoever_hangs_up_ends_the_calls() {
    let _turn = turn();
    let address = address();
    let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
    let instance = open(&setup).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    let request = Request { statement: 0, arguments: [0; 4] };
    session.execute(&request).unwrap();
    instance.hang_up();
    let error = session.execute(&request).unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    drop(session);
    instance.close().unwrap();
}
