//! `hopcost survey` as a user meets it: its page, its budget, and Ctrl-C.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod settled;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;
use settled::settled;
use tempfile::TempDir;

/// One survey at a time: each wants the whole machine.
static MACHINE: Mutex<()> = Mutex::new(());

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Leave to load is given: a machine that runs tests need not be idle.
    fn survey(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(self.dir.path()).args(["survey", "--allow-load", "--json"]);
        command.env("XDG_CACHE_HOME", self.path("cache")).env("NO_COLOR", "1");
        command.args(arguments);
        command
    }

    fn page(&self) -> String {
        fs::read_to_string(self.path("hopcost.html")).unwrap()
    }
}

#[test]
fn a_survey_keeps_to_its_budget_and_names_what_it_left_out() {
    let _alone = MACHINE.lock().unwrap();
    let bench = Bench::new();
    let checks = ["--budget", "50s", "--fail-if", "bounded-max: gain > 0"];
    let store = bench.path("hopcost.db");
    let output = settled(&store, || bench.survey(&checks).output().unwrap());
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let survey: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(survey["interrupted"], false, "{words}");
    let measured: Vec<&str> = survey["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["experiment"].as_str().unwrap())
        .collect();
    let left: Vec<&str> = survey["not_tested"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["what"].as_str().unwrap())
        .collect();
    assert!(!measured.is_empty() && !left.is_empty(), "{measured:?} and not {left:?}");
    // Each experiment of a survey is in one of the two, and none in both.
    let mut all = [measured.as_slice(), left.as_slice()].concat();
    all.sort_unstable();
    assert_eq!(
        all,
        [
            "access-cost",
            "audit-cost",
            "bounded-max",
            "cache-distance",
            "context-switches",
            "instances",
            "log-distance",
            "log-distance-disk",
            "memory-policy",
            "remote-memory",
            "server-score",
            "smt-oltp",
            "smt-stability"
        ]
    );
    let page = bench.page();
    for name in all {
        assert!(page.contains(name), "the page does not know {name}");
    }
    assert!(page.len() < 2 << 20 && !page.contains("INTERRUPTED"));
}

#[test]
fn a_survey_that_is_interrupted_leaves_a_page_that_says_so() {
    let _alone = MACHINE.lock().unwrap();
    let bench = Bench::new();
    let mut command = bench.survey(&["--budget", "120s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(9));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success(), "it ended before it was interrupted");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let survey: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(survey["interrupted"], true);
    assert!(bench.page().contains("INTERRUPTED"));
    let store = Connection::open(bench.path("hopcost.db")).unwrap();
    let integrity: String =
        store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
}

#[test]
fn a_check_of_what_is_not_surveyed_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let output = bench.survey(&["--fail-if", "placebo: cost > 3%"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'placebo' is not part of a survey"));
    assert!(!bench.path("hopcost.db").exists());
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_measured() {
    let bench = Bench::new();
    let output = bench.survey(&["--html", "no/such/place.html"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--html no/such/place.html"));
    assert!(!bench.path("hopcost.db").exists());
}
