//! MySQL 9, which the system does not have: what is tried on MariaDB, tried on it; and its log's own threads, which
//! MariaDB has not.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use xtask::newer_mysql;
use xtask::test::{build_hopcost, cargo};

/// A run that is judged wants the machine to itself.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn what_holds_on_mariadb_holds_on_mysql() {
    let _alone = alone();
    let programs = newer_mysql::programs().unwrap();
    let mut tests = cargo();
    // As the whole workspace is built: so it is there already.
    tests.args(["test", "--workspace", "--test", "mariadb_target", "--"]);
    // Faults are MariaDB's, in its own words; every workload is asked of a server of our own.
    tests.args(["--skip", "attached::every_workload"]);
    let output =
        tests.args(["--skip", "faults::"]).env("HOPCOST_TEST_MYSQL", programs).output().unwrap();
    let [said, errors] =
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("test result: ok. 13 passed"), "{said}");
}

/// The inserter on the CPU of the log's threads, and on another: where all of them ran is proved.
#[test]
fn its_log_writer_stands_where_it_is_put() {
    let _alone = alone();
    let hopcost = build_hopcost().unwrap();
    let programs = newer_mysql::programs().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let target = format!("mysql:managed?version=9&programs={}", programs.display());
    let run = |seed: u32| -> Value {
        let mut run = Command::new(&hopcost);
        run.args([
            "run",
            "log-distance",
            "--target",
            &target,
            "--quick",
            "--budget",
            "60s",
            "--json",
        ]);
        run.args(["--seed", &seed.to_string(), "--store"]).arg(dir.path().join("store.db"));
        let output = run.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {said}"))
    };
    // A machine that is taken away from us now and then leaves a run undecided.
    let is_decided =
        |result: &Value| ["COST", "GAIN"].contains(&result["verdict"].as_str().unwrap());
    let result = (1..=4).map(run).find(is_decided).expect("a verdict in four runs");
    let proof = result["proof"].as_array().unwrap();
    let of_writer = proof.iter().filter(|proved| {
        proved["claim"].as_str().is_some_and(|claim| claim.starts_with("log_writer_in_place"))
    });
    assert!(of_writer.count() >= 2, "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.99)), "{proof:?}");
}
