//! A test directory with an experiment that loads quickly.
#![allow(dead_code)] // each of the binaries uses its part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use hopcost_sys::clock;
use hopcost_testkit::kept::kept;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

pub const FAR: &str = r#"
question = "What does distance cost?"

[subject]
dataset = "tran_stats"
scale = { quick = 50_000, full = 50_000 }
workload = "reporting_p2"

[factor.memory]
near = { data = "node:A", workers = "node:A" }
far = { data = "node:A", workers = "node:B" }

[measure]
response = "queries_per_hour"
prove = ["local_lookups >= 98% when memory = near", "remote_lookups >= 98% when memory = far"]
"#;

/// Appended to search a sweep for the worst point.
pub const SWEEP: &str = "find = \"worst\"\n\n[sweep]\nstreams = [1, 2]\n";

/// Two nodes, with a distance that a debug build can measure.
pub const TWO_NODES: &str = "--emulate=nodes=2,remote_ns=8000";

/// Eight units in each of the two bindings, in the shortest windows that a debug build can fill.
pub const SHORT: [&str; 5] =
    ["--quick", TWO_NODES, "--set=units=8", "--set=window=40ms", "--set=guard=10ms"];

/// What a real survey left.
pub const SURVEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/stores/survey.db");

pub struct Bench {
    dir: TempDir,
}

impl Bench {
    pub fn with(experiments: &[(&str, &str)]) -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        for (name, text) in experiments {
            fs::write(bench.path(name), text).unwrap();
        }
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(self.dir.path()).args(arguments).env("NO_COLOR", "1");
        command.env("XDG_CACHE_HOME", kept()).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    pub fn hopcost(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Types a line; `hopcost` is on the path, and the directory is home.
    pub fn shell(&self, line: &str) -> Output {
        let directory = Path::new(env!("CARGO_BIN_EXE_hopcost")).parent().unwrap();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.dir.path()).env("PATH", path);
        shell.env("HOME", self.dir.path()).env("NO_COLOR", "1");
        shell.env("XDG_CACHE_HOME", kept()).env("XDG_STATE_HOME", self.path("state"));
        shell.output().unwrap()
    }

    pub fn store(&self) -> Connection {
        Connection::open(self.path("hopcost.db")).unwrap()
    }

    /// Does the condition hold in the store? False if there is none yet.
    pub fn has(&self, condition: &str) -> bool {
        let there = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let store = Connection::open_with_flags(self.path("hopcost.db"), there);
        let sql = format!("SELECT {condition}");
        store.and_then(|store| store.query_row(&sql, [], |row| row.get(0))).unwrap_or(false)
    }

    /// Edits a JSON column, as if another machine had measured it.
    pub fn change(&self, store: &str, [table, column]: [&str; 2], change: impl FnOnce(&mut Value)) {
        let store = Connection::open(self.path(store)).unwrap();
        let sql = format!("SELECT {column} FROM {table}");
        let text: String = store.query_row(&sql, [], |row| row.get(0)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let sql = format!("UPDATE {table} SET {column} = ?1");
        assert_eq!(store.execute(&sql, [value.to_string()]).unwrap(), 1);
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.store().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[track_caller]
pub fn ends(output: &Output, code: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}{}", stdout(output));
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

/// The run ended; on a busy machine it may have no verdict.
#[track_caller]
pub fn is_over(output: &Output) {
    let said = stdout(output);
    let is_over = match output.status.code() {
        Some(0) => true,
        Some(1) => said.contains("VOID"),
        _ => false,
    };
    assert!(is_over, "{:?}: {}{said}", output.status, stderr(output));
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = clock::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(4), "not within four minutes: {what}");
        sleep(Duration::from_millis(20));
    }
}
