//! Targets on real servers: right answers, placement, nothing foreign touched, clear errors.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod counts;
mod hashtable;
mod mariadb;
mod mariadb_rest;
mod postgres;
mod postgres_rest;
mod seen;
mod traces;

use hopcost_core::{Code, VariantSettings};
use hopcost_testkit::conformance::{ASKED, Asked, Engine};
use hopcost_testkit::named::{dataset, open, seat, shared_setup as setup, target, workload};

/// Workloads on 70 MB, which take long to load.
const ASKED_OF_MUCH: [Asked; 2] = [("tpcc", "standard_oltp", 1), ("tpcc", "augmented_oltp", 1)];

fn engine<'a>(name: &str, address: &'a str) -> Engine<'a> {
    Engine { target: target(name), address }
}

#[test]
fn every_workload_is_answered_rightly_in_our_own_process() {
    // As hopcost does first: `wal` opens SQLite too.
    hopcost_engines::sqlite::prepare();
    engine("hashtable", "").answers(&ASKED, &seat());
    let log_writer = seat().workers.into_iter().collect();
    let seat_of_log = VariantSettings { log_writer: Some(log_writer), ..seat() };
    for name in ["wal", "commitlog"] {
        engine(name, "").answers(&[("insert_test", "single_row_commit", 1)], &seat_of_log);
    }
    // SQLite here has no log: commits are for engines with one.
    let asked = ASKED.into_iter().filter(|(_, asked, _)| *asked != "single_row_commit");
    engine("sqlite", "").answers(&asked.collect::<Vec<_>>(), &seat());
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
