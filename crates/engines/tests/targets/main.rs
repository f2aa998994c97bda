//! Targets on real servers: the same answers as SQLite, threads and memory in their place, nothing touched that is
//! not ours, and clear words when something breaks.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod counts;
mod hashtable;
mod mariadb;
mod mariadb_rest;
mod postgres;
mod postgres_rest;
mod seen;
mod traces;

use hopcost_core::{Code, Instance, Metric, Session, Setup, Stream};
use hopcost_testkit::named::{dataset, open, seat, shared_setup as setup, workload};

/// Data, what is asked of it, and how large it is: for each way in which an engine is asked.
const ASKED: [(&str, &str, u64); 8] = [
    ("tran_stats", "reporting_p1", 20_000),
    ("tran_stats", "reporting_p2", 60_000),
    ("archive_view", "newest_bounded", 500),
    ("archive_view", "newest_unbounded", 500),
    ("insert_test", "single_row_commit", 1),
    ("big_table_im", "memory_insert", 1_000),
    ("big_table_im", "bulk_load", 1),
    ("nothing", "null_call", 1),
];
/// The same of 70 MB, which take their time to load.
const ASKED_OF_MUCH: [(&str, &str, u64); 2] =
    [("tpcc", "standard_oltp", 1), ("tpcc", "augmented_oltp", 1)];

/// Asks each workload a number of questions; its own rules say what is right.
fn asks_and_is_answered(target: &str, address: &str, asked: &[(&str, &str, u64)]) {
    for (data, name, rows) in asked {
        let (dataset, workload) = (dataset(data), workload(name));
        let setup = setup(dataset, workload, *rows, address);
        let instance = open(target, &setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        let stream = Stream { number: 0, of: 1, seed: 7 };
        let mut requests = workload.requests(setup.shape, stream);
        for _ in 0..40 {
            let request = requests.next();
            let answer = session.execute(&request).unwrap_or_else(|why| panic!("{name}: {why}"));
            let checked = workload.check(setup.shape, &request, &answer);
            checked.unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        says_how(instance.as_ref(), session.as_mut(), &setup, name);
        drop(session);
        instance.close().unwrap();
    }
}

#[test]
fn a_version_that_is_not_there_is_named_with_those_that_are() {
    for (target, name) in [("postgres", "PostgreSQL"), ("mariadb", "MariaDB"), ("mysql", "MySQL")] {
        let setup = setup(dataset("nothing"), workload("null_call"), 1, "managed?version=3");
        let refused = open(target, &setup).err().unwrap();
        assert_eq!(refused.code(), Code::ProgramMissing);
        let words = refused.to_string();
        assert!(words.contains(&format!("{name} 3 w")), "{words}");
        assert!(words.contains("here") && words.contains("programs=DIR"), "{words}");
    }
}

/// A plan for each statement, the same each time; and each call was answered where it had to be.
fn says_how(instance: &dyn Instance, session: &mut dyn Session, setup: &Setup<'_>, name: &str) {
    let plans = instance.plans().unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(plans.len(), setup.spec().statements.len());
    assert_eq!(plans, instance.plans().unwrap(), "{name}");
    assert_eq!(session.counted().proved[&Metric::AnsweredInPlace], [1, 1], "{name}");
}
