//! MySQL 9: MariaDB's tests, and the log's separate threads, which MariaDB lacks.

use std::process::Command;

use hopcost_core::Metric;
use serde_json::Value;
use xtask::newer_mysql;
use xtask::test::tested_hopcost;

#[test]
fn what_holds_on_mariadb_holds_on_mysql() {
    let programs = newer_mysql::programs().unwrap();
    // Fault messages are MariaDB's own; every workload is tested on a managed server.
    let skipped = ["mariadb::faults::", "mariadb_rest::every_workload"];
    let modules = ["mariadb::", "mariadb_rest::"];
    super::tried(super::TARGETS, &modules, &skipped, "HOPCOST_TEST_MYSQL", &programs);
}

/// The inserter on the CPU of the log's threads, and on another: their placement is proved,
/// whatever the verdict.
#[test]
fn its_log_writer_stands_where_it_is_put() {
    let programs = newer_mysql::programs().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let target = format!("mysql:managed?version=9&programs={}", programs.display());
    let mut run = Command::new(tested_hopcost().unwrap());
    run.args(["run", "log-distance", "--target", &target, "--quick", "--json"]);
    run.args(["--set", "units=8", "--set", "window=50ms", "--set", "guard=10ms"]);
    run.arg("--store").arg(dir.path().join("store.db"));
    run.arg("--cache-dir").arg(hopcost_testkit::kept::kept());
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {said}"));
    let proof = result["proof"].as_array().unwrap();
    let of_writer = proof.iter().filter(|proved| {
        proved["claim"]
            .as_str()
            .is_some_and(|claim| claim.starts_with(Metric::LogWriterInPlace.name()))
    });
    assert!(of_writer.count() >= 2, "{}: {proof:?}", result["reason"]);
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.99)), "{proof:?}");
}
