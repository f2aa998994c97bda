//! `hopcost` on a PostgreSQL server, as a user meets it: killed runs, killed servers, pgbench's scripts.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

#[path = "../../kit/tests/server/mod.rs"]
mod server;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use server::PostgreSql;
use tempfile::TempDir;

/// A workload whose every call is short.
const EXPERIMENT: &str = r#"
question = "Does anything change?"

[subject]
target = "postgres"
dataset = "insert_test"
scale = { quick = 1, full = 1 }
workload = "single_row_commit"

[factor.arm]
one = { cpus = 1 }
other = { cpus = 1 }

[measure]
response = "calls_per_second"
"#;

struct Bench {
    dir: TempDir,
    server: PostgreSql,
}

impl Bench {
    fn new(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("same.toml"), EXPERIMENT).unwrap();
        Self { dir, server: PostgreSql::start(options) }
    }

    fn url(&self) -> String {
        format!("postgres:{}", self.server.url("postgres"))
    }

    fn hopcost(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(self.dir.path()).args(arguments).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.env("XDG_CACHE_HOME", self.dir.path().join("cache"));
        command
    }

    /// A run that lasts until something happens to it.
    fn long_run(&self) -> Command {
        let mut command = self.hopcost(&["run", "same.toml", "--quick", "--set", "units=400"]);
        command.args(["--set", "window=50ms", "--set", "guard=10ms", "--target", &self.url()]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn has_schema(&self) -> bool {
        self.server.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'") == "1"
    }

    /// Blocks that are in the store.
    fn blocks(&self) -> i64 {
        let Ok(store) = rusqlite::Connection::open(self.dir.path().join("hopcost.db")) else {
            return 0;
        };
        store.query_row("SELECT count(*) FROM block", [], |row| row.get(0)).unwrap_or(0)
    }

    fn wait_for_blocks(&self, count: i64) {
        let begun = now();
        while self.blocks() < count {
            assert!(begun.elapsed() < Duration::from_mins(1), "no block was finished");
            sleep(Duration::from_millis(50));
        }
    }
}

#[allow(clippy::disallowed_methods)] // a test's patience needs a clock
fn now() -> Instant {
    Instant::now()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_killed_run_leaves_a_schema_that_restore_drops_and_nothing_else() {
    let _alone = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
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
fn a_run_ends_clean_and_its_store_holds_no_password() {
    let bench = Bench::new(&[]);
    let url = bench.url().replace("//me@", "//me:do-not-keep-me@");
    let mut run = bench.hopcost(&["run", "same.toml", "--quick", "--set", "units=8"]);
    run.args(["--set", "window=30ms", "--set", "guard=10ms", "--target", &url, "--json"]);
    let output = run.output().unwrap();
    assert!(text(&output).contains("\"verdict\""), "{}", text(&output));
    assert!(text(&output).contains("of log in all while hopcost was there"), "{}", text(&output));
    assert!(!bench.has_schema());
    let page = bench.dir.path().join("page.html");
    bench.hopcost(&["report", "--html"]).arg(&page).output().unwrap();
    for file in [page, bench.dir.path().join("hopcost.db")] {
        let bytes = fs::read(&file).unwrap();
        let secret = b"do-not-keep-me";
        let is_there = bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!is_there, "{}", file.display());
    }
    assert!(!text(&output).contains("do-not-keep-me"));
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
    // The next one has no use for it, and leaves nothing.
    let drive = ["drive", &bench.url(), "--workload", "single_row_commit", "--duration", "0.1s"];
    let output = bench.hopcost(&drive).output().unwrap();
    assert!(text(&output).contains("calls a second of single_row_commit"), "{}", text(&output));
    assert!(!bench.has_schema());
}

#[test]
fn a_server_that_dies_ends_the_run_with_words_and_what_was_finished_stays() {
    let _alone = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new(&[]);
    let run = bench.long_run().spawn().unwrap();
    bench.wait_for_blocks(2);
    bench.server.kill();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let words = "terminating connection";
    assert!(text(&output).contains(words) || text(&output).contains("closed"), "{}", text(&output));
    let report = bench.hopcost(&["report"]).output().unwrap();
    let told = text(&report);
    assert!(told.contains("was not finished (single_row_commit: "), "{told}");
    let blocks = told.split(" blocks").next().unwrap().rsplit(' ').next().unwrap();
    assert!(blocks.parse::<i64>().unwrap() >= 2, "{told}");
    // What could not be dropped is not forgotten.
    let output = bench.hopcost(&["restore"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("NOT REMOVED"), "{}", text(&output));
    bench.server.start_again();
    let output = bench.hopcost(&["restore"]).output().unwrap();
    assert!(text(&output).contains("dropped the schema hopcost"), "{}", text(&output));
    assert!(!bench.has_schema());
}

/// What is left to restore is all users' of this machine: one test at a time leaves something.
static LEFT: Mutex<()> = Mutex::new(());

/// The statements that reached the server as `P0_0`, `P0_1`, …, as its log has them.
fn executed(log: &str) -> BTreeSet<String> {
    let after = |line: &str| -> Option<String> {
        let (_, rest) = line.split_once("LOG:  execute P")?;
        Some(rest.split_once(": ")?.1.to_owned())
    };
    log.lines().filter_map(after).collect()
}

#[test]
fn pgbenchs_own_scripts_send_what_pgbench_sends() {
    let bench = Bench::new(&["-c", "log_statement=all"]);
    assert!(bench.server.client("pgbench", &["-i", "-q"]).status().unwrap().success());
    for name in ["tpcb-like", "simple-update", "select-only"] {
        let script = bench.dir.path().join(format!("{name}.sql"));
        let shown = bench
            .server
            .command("pgbench", &[&format!("--show-script={name}")])
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        fs::write(&script, &shown.stderr).unwrap();
        let begun = bench.server.log().len();
        let path = script.display().to_string();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bench.dir.path(), all).unwrap();
        let theirs = ["-n", "-M", "prepared", "-t", "3", "-f", &path];
        assert!(bench.server.client("pgbench", &theirs).status().unwrap().success());
        let between = bench.server.log().len();
        let output = bench
            .hopcost(&["drive", &bench.url(), "--duration", "0.2s", "--clients", "3", "--json"])
            .args(["--threads", "1", "--file", &path])
            .output()
            .unwrap();
        assert!(text(&output).contains("\"errors\": 0"), "{}", text(&output));
        let log = bench.server.log();
        let (theirs, ours) = (executed(&log[begun..between]), executed(&log[between..]));
        assert!(!theirs.is_empty(), "{name}: {}", &log[begun..between]);
        assert_eq!(ours, theirs, "{name}");
    }
    // Every transaction was whole.
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = \
                (SELECT sum(delta) FROM pgbench_history)";
    assert_eq!(bench.server.ask(sums), "t");
}
