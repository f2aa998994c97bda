//! MariaDB as a target, on servers of hopcost's own: the same answers as SQLite, threads and memory in their
//! place, and clear words when something breaks.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod attached;
mod faults;

use std::path::Path;
use std::sync::OnceLock;

use hopcost_core::{
    Audit, CallError, Dataset, Known, Look, ProofMethod, Request, Seat, Session, Setup, Stream,
    Workload,
};
use hopcost_sys::affinity;

use hopcost_testkit::certificate::certificate;
use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::named::{self, dataset, home, open, target, workload};
use hopcost_testkit::{kept::kept, mariadb};

/// Data that is kept between the tests of one run.
fn cache() -> &'static Path {
    kept()
}

fn setup<'a>(
    dataset: &'a dyn Dataset,
    workload: &'a dyn Workload,
    rows: u64,
    address: &'a str,
) -> Setup<'a> {
    named::setup(dataset, workload, rows, address, cache())
}

fn seat() -> Seat {
    let cpu = affinity::mask().unwrap().last();
    Seat { home: Some(home().into()), at: Some(home()), worker: cpu, ..Seat::default() }
}

#[test]
fn tables_hold_what_they_were_made_of() {
    for (name, rows) in everything::ALL {
        let dataset = dataset(name);
        let (everything, made) = Everything::of(dataset, rows);
        let setup = setup(dataset, &everything, rows, managed());
        let instance = open(engine().0, &setup).unwrap();
        let mut session = instance.session(seat()).unwrap();
        everything.assert_is(&made, engine().0, &mut *session);
    }
}

/// MariaDB as the system has it, or the MySQL whose programs are in the directory `HOPCOST_TEST_MYSQL`.
fn engine() -> &'static (&'static str, String) {
    static ENGINE: OnceLock<(&str, String)> = OnceLock::new();
    ENGINE.get_or_init(|| match mariadb::chosen() {
        (name, Some(programs)) => (name, format!("managed?programs={}", programs.display())),
        (name, None) => (name, "managed".to_owned()),
    })
}

/// The address of a server of hopcost's own.
fn managed() -> &'static str {
    &engine().1
}

/// Asks each workload a number of questions; its own rules say what is right.
fn asks_and_is_answered(address: &str) {
    for (data, name, rows) in [
        ("tran_stats", "reporting_p1", 20_000),
        ("tran_stats", "reporting_p2", 60_000),
        ("tpcc", "standard_oltp", 1),
        ("tpcc", "augmented_oltp", 1),
        ("archive_view", "newest_bounded", 500),
        ("archive_view", "newest_unbounded", 500),
        ("insert_test", "single_row_commit", 1),
        ("big_table_im", "memory_insert", 1_000),
        ("big_table_im", "bulk_load", 1),
        ("nothing", "null_call", 1),
    ] {
        let (dataset, workload) = (dataset(data), workload(name));
        let setup = setup(dataset, workload, rows, address);
        let instance = open(engine().0, &setup).unwrap();
        let mut session = instance.session(seat()).unwrap();
        let stream = Stream { number: 0, of: 1, seed: 7 };
        let mut requests = workload.requests(setup.shape, stream);
        for _ in 0..40 {
            let request = requests.next();
            let answer = session.execute(&request).unwrap_or_else(|why| panic!("{name}: {why}"));
            let checked = workload.check(setup.shape, &request, &answer);
            checked.unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        let plans = instance.plans().unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(plans.len(), workload.statements(setup.shape).len());
        assert_eq!(plans, instance.plans().unwrap(), "{name}");
        let proved = session.counted().proved;
        assert_eq!(proved["answered_in_place"], [1, 1], "{name}");
        drop(session);
        instance.close().unwrap();
    }
}

#[test]
fn every_workload_is_answered_rightly_by_a_server_of_our_own() {
    asks_and_is_answered(managed());
}

#[test]
fn rows_of_all_streams_are_counted_once() {
    for (name, calls, rows) in [("memory_insert", 30, 1), ("bulk_load", 2, 5_000)] {
        let workload = workload(name);
        let setup = setup(dataset("big_table_im"), workload, 1_000_000, managed());
        let instance = open(engine().0, &setup).unwrap();
        let mut sessions: Vec<Box<dyn Session>> =
            (0..2).map(|stream| instance.session(Seat { stream, ..seat() }).unwrap()).collect();
        for (number, session) in sessions.iter_mut().enumerate() {
            session.begin_counting();
            let stream = Stream { number: number as u32, of: 2, seed: 0 };
            let mut requests = workload.requests(setup.shape, stream);
            for _ in 0..calls {
                session.execute(&requests.next()).unwrap();
            }
        }
        let counted: Vec<[u64; 2]> = sessions
            .iter_mut()
            .filter_map(|session| session.counted().proved.get("rows_counted").copied())
            .collect();
        let all = counted.iter().fold([0, 0], |sum, [held, of]| [sum[0] + held, sum[1] + of]);
        assert_eq!(all, [2 * calls * rows; 2], "{name}: {counted:?}");
    }
}

#[test]
fn the_buffer_pool_is_proved_to_be_at_home_and_nothing_is_read_from_disk() {
    let (dataset, workload) = (dataset("tpcc"), workload("standard_oltp"));
    let setup = setup(dataset, workload, 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
    assert_eq!(homes.len(), 1);
    assert_eq!(homes[0].method, ProofMethod::MovePages);
    assert!(homes[0].share_in_place() >= 0.98, "{homes:?}");
    // Some 80 MiB of data are in it.
    assert!(homes[0].pages() > 10_000, "{homes:?}");
    let reads = || {
        let readings = instance.readings();
        readings.iter().find(|reading| reading.metric == "buffer_reads").unwrap().value
    };
    let mut session = instance.session(seat()).unwrap();
    let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 3 });
    let mut calls = |calls: usize| {
        for _ in 0..calls {
            session.execute(&requests.next()).unwrap();
        }
    };
    // The first calls that write touch pages which are no table's: maps of free space, and undo logs, of which each
    // of 128 has its turn.
    calls(600);
    let before = reads();
    calls(200);
    let read = reads() - before;
    assert!(read < 1.0, "{read} pages were read");
}

#[test]
fn what_its_threads_wait_for_is_seen() {
    let setup = setup(dataset("tran_stats"), workload("reporting_p1"), 20_000, managed());
    let instance = open(engine().0, &setup).unwrap();
    let seen = || {
        let readings = instance.readings();
        let of_threads = readings.iter().filter(|reading| reading.metric == "wait_samples");
        of_threads.map(|reading| reading.value).sum::<f64>()
    };
    seen();
    let mut session = instance.session(seat()).unwrap();
    let mut requests = setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 1 });
    // Somebody who works all the time is soon seen at it.
    let is_seen = (0..2_000).any(|_| {
        session.execute(&requests.next()).unwrap();
        seen() > 0.0
    });
    assert!(is_seen, "{:?}", instance.readings());
}

#[test]
fn a_server_that_is_killed_has_closed_the_connection() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let mut session = instance.session(seat()).unwrap();
    let thread = instance.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")).unwrap().trim().to_owned();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let request = Request { statement: 0, arguments: [0; 4] };
    let error = session.execute(&request).unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("closed the connection") || words.contains("was reset"), "{words}");
}

#[test]
fn what_it_cannot_do_is_said() {
    let (dataset, workload) = (dataset("nothing"), workload("null_call"));
    let refusal = |option: &str| {
        let between = if managed().contains('?') { '&' } else { '?' };
        let address = format!("{}{between}{option}", managed());
        open(engine().0, &setup(dataset, workload, 1, &address)).err().unwrap().to_string()
    };
    let words = refusal("version=3");
    assert!(words.contains(" 3 was found"), "{words}");
    let words = refusal("nonsense=1");
    assert!(words.contains("nonsense"), "{words}");
}

#[test]
fn each_call_is_written_down_once_where_that_is_asked_for() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let request = Request { statement: 0, arguments: [0; 4] };
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let seat = || Seat { audit: Some(audit), ..seat() };
        let mut sessions = [0, 1].map(|_| instance.session(seat()).unwrap());
        for calls in [1, 300] {
            for session in &mut sessions {
                (0..calls).for_each(|_| {
                    session.execute(&request).unwrap();
                });
            }
            for session in &mut sessions {
                assert_eq!(session.counted().proved["audited_as_asked"], [calls; 2], "{audit:?}");
            }
        }
    }
}
