//! `hopcost survey`: Ctrl-C, and errors before anything is measured.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bench::{Bench, ends, json, stderr, wait_until};

/// One survey at a time: each loads the whole machine.
pub fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// With `--allow-load`: a machine that runs tests need not be idle.
pub fn survey(bench: &Bench, arguments: &[&str]) -> Command {
    bench.command(&[&["survey", "--allow-load", "--json"], arguments].concat())
}

pub fn page(bench: &Bench) -> String {
    fs::read_to_string(bench.path("hopcost.html")).unwrap()
}

#[test]
fn a_survey_that_is_interrupted_leaves_a_page_that_says_so() {
    let _alone = alone();
    let bench = Bench::with(&[]);
    let mut command = survey(&bench, &["--budget", "120s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a probe has reported", || bench.has("count(*) FROM probe_report"));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success(), "it ended before it was interrupted");
    let output = child.wait_with_output().unwrap();
    ends(&output, 130, &[]);
    assert_eq!(json(&output)["interrupted"], true, "{}", stderr(&output));
    assert!(page(&bench).contains("INTERRUPTED"));
    let integrity: String =
        bench.store().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
}

#[test]
fn a_check_of_what_is_not_surveyed_is_refused_before_anything_is_measured() {
    let bench = Bench::with(&[]);
    let output = survey(&bench, &["--fail-if", "placebo: cost > 3%"]).output().unwrap();
    ends(&output, 2, &["'placebo' is not part of a survey"]);
    assert!(!bench.path("hopcost.db").exists());
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_is_measured() {
    let bench = Bench::with(&[]);
    let output = survey(&bench, &["--html", "no/such/place.html"]).output().unwrap();
    ends(&output, 1, &["--html no/such/place.html"]);
    assert!(!bench.path("hopcost.db").exists());
}
