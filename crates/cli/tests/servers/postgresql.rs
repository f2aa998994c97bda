//! `hopcost` on PostgreSQL: killed runs, killed servers, pgbench scripts.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use hopcost_sys::ring::Ring;
use serde_json::Value;

use crate::at_work::{alone, text};
use crate::faults::{self, SECRET};
use crate::on_postgresql::Bench;

#[test]
fn a_killed_run_leaves_a_schema_that_restore_drops_and_nothing_else() {
    let _alone = alone();
    let bench = Bench::new(&[]);
    bench.server.ask("CREATE TABLE theirs AS SELECT generate_series(1, 100) AS n");
    let before = bench.server.dump();
    let mut run = bench.long_run().spawn().unwrap();
    bench.wait_for_blocks(1);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(bench.has_schema(), "it was killed in the middle");
    let output = bench.hopcost(&["restore"]).output().unwrap();
    assert!(text(&output).contains("dropped the schema hopcost"), "{}", text(&output));
    assert!(!bench.has_schema());
    assert_eq!(bench.server.dump(), before);
}

#[test]
fn what_is_loaded_stays_until_it_is_no_longer_wanted() {
    let bench = Bench::new(&[]);
    let load = |url: &str| {
        let output =
            bench.hopcost(&["load", url, "archive_view", "--scale", "100"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    };
    assert!(load(&bench.url()).contains("rows of archive_view after"));
    assert_eq!(bench.server.ask("SELECT count(*) FROM hopcost.txn_current"), "100");
    assert!(load("sqlite:").contains("rows of archive_view after"));
    // The next command does not need it, and leaves nothing.
    let drive = ["drive", &bench.url(), "--workload", "single_row_commit", "--duration", "0.1s"];
    let output = bench.hopcost(&drive).output().unwrap();
    assert!(text(&output).contains("calls a second of single_row_commit"), "{}", text(&output));
    assert!(!bench.has_schema());
}

/// Statements executed as `P0_0`, `P0_1`, … in the server's log.
pub fn executed(log: &str) -> BTreeSet<String> {
    let after = |line: &str| -> Option<String> {
        let (_, rest) = line.split_once("LOG:  execute P")?;
        Some(rest.split_once(": ")?.1.to_owned())
    };
    log.lines().filter_map(after).collect()
}

/// A server that logs all statements, with pgbench's tables.
pub fn pgbenchs() -> Bench {
    let bench = Bench::new(&["-c", "log_statement=all"]);
    assert!(bench.server.client("pgbench", &["-i", "-q"]).status().unwrap().success());
    // PostgreSQL's user must be able to read the scripts.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bench.dir.path(), all).unwrap();
    bench
}

#[test]
fn pgbenchs_own_script_sends_what_pgbench_sends() {
    sends_what_pgbench_sends(&pgbenchs(), "select-only");
}

pub fn sends_what_pgbench_sends(bench: &Bench, name: &str) {
    let script = bench.dir.path().join(format!("{name}.sql"));
    let show = format!("--show-script={name}");
    let mut show = bench.server.command("pgbench", &[&show]);
    let shown = show.stderr(Stdio::piped()).output().unwrap();
    fs::write(&script, &shown.stderr).unwrap();
    let begun = bench.server.log().len();
    let path = script.display().to_string();
    let theirs = ["-n", "-M", "prepared", "-t", "3", "-f", &path];
    assert!(bench.server.client("pgbench", &theirs).status().unwrap().success());
    let between = bench.server.log().len();
    let output = bench
        .hopcost(&["drive", &bench.url(), "--duration", "0.2s", "--clients", "3", "--json"])
        .args(["--threads", "1", "--file", &path])
        .output()
        .unwrap();
    assert!(text(&output).contains("\"errors\": 0"), "{}", text(&output));
    assert!(!text(&output).contains("io_uring"), "{}", text(&output));
    let log = bench.server.log();
    let (theirs, ours) = (executed(&log[begun..between]), executed(&log[between..]));
    assert!(!theirs.is_empty(), "{name}: {}", &log[begun..between]);
    assert_eq!(ours, theirs, "{name}");
}

/// This many connections on a thread use io_uring.
pub const MANY: &str = "40";
/// Covers answers and statements longer than a buffer, one statement in several parts, and an error
/// after a partial answer.
const LONG_AND_SHORT: &str = "\
SELECT repeat('x', 9000) AS word, 41 AS number \\gset
SELECT 1 / (length(:word::text) / 9000), :number::integer;
\\startpipeline
BEGIN;
SELECT 1 / (:number::integer / 41);
INSERT INTO seen VALUES (:client_id);
COMMIT;
\\endpipeline
SELECT generate_series(1, 1000);
";

#[test]
fn many_connections_of_a_thread_are_answered_as_a_few_are() {
    let driven = Driven::new();
    driven.answers(MANY, &[]);
    driven.fails(MANY);
}

pub struct Driven {
    bench: Bench,
}

impl Driven {
    pub fn new() -> Self {
        let bench = Bench::new(&[]);
        bench.server.ask("CREATE TABLE seen (client integer)");
        Self { bench }
    }

    fn drive(&self, script: &str, clients: &str, more: &[&str]) -> Value {
        let bench = &self.bench;
        bench.server.ask("TRUNCATE seen");
        fs::write(bench.dir.path().join("script.sql"), script).unwrap();
        let mut drive = bench.hopcost(&["drive", &bench.url(), "--json", "--threads", "1"]);
        drive.args(["--duration", "0.5s", "--clients", clients, "--file", "script.sql"]);
        let output = drive.args(more).output().unwrap();
        let driven: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        let notes = driven["notes"].to_string();
        assert_eq!(notes.contains("io_uring"), clients == MANY && has_rings(), "{notes}");
        driven
    }

    fn seen(&self) -> String {
        self.bench.server.ask("SELECT count(*) || ' of ' || count(DISTINCT client) FROM seen")
    }

    pub fn answers(&self, clients: &str, more: &[&str]) {
        let driven = self.drive(LONG_AND_SHORT, clients, more);
        assert_eq!(driven["errors"], 0, "{driven}");
        let calls = driven["calls"].as_u64().unwrap() + driven["warm_up_calls"].as_u64().unwrap();
        assert_eq!(self.seen(), format!("{calls} of {clients}"), "{driven}");
    }

    /// An error in a transaction ends it, and the next call starts afresh.
    pub fn fails(&self, clients: &str) {
        let failing = "BEGIN;\nINSERT INTO seen VALUES (:client_id);\nSELECT 1 / :nothing::integer;\nCOMMIT;\n";
        let driven = self.drive(failing, clients, &["-D", "nothing=0"]);
        let errors = driven["errors"].as_u64().unwrap();
        assert!(errors > 0 && driven["first_error"].to_string().contains("zero"), "{driven}");
        assert_eq!(errors, driven["calls"].as_u64().unwrap());
        assert_eq!(self.seen(), "0 of 0");
    }
}

fn has_rings() -> bool {
    let (one, _other) = UnixStream::pair().unwrap();
    Ring::of([one.as_fd()]).is_ok()
}

#[test]
fn a_server_that_dies_ends_the_run_with_words_and_what_was_finished_stays() {
    let _alone = alone();
    // A final message, an orderly close or a reset, whichever the kernel reports first.
    let said = ["terminating connection", "closed", "the connection was reset"];
    faults::a_server_dies_in_a_run(&Bench::new(&[]), &said);
}

#[test]
fn a_run_ends_clean_and_its_store_holds_no_password() {
    let bench = Bench::new(&[]);
    let url = bench.url().replace("//me@", &format!("//me:{SECRET}@"));
    faults::a_run_keeps_no_password(&bench, &url);
}
