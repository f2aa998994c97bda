//! A PostgreSQL server with a `hopcost` that works on it.
#![allow(dead_code)] // each test file uses its part

#[path = "../../../kit/tests/server/mod.rs"]
mod server;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use server::PostgreSql;
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

/// A server, and a directory to work in.
pub struct Bench {
    pub dir: TempDir,
    pub server: PostgreSql,
}

impl Bench {
    pub fn new(options: &[&str]) -> Self {
        Self::with(PostgreSql::start(options))
    }

    pub fn with(server: PostgreSql) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("same.toml"), EXPERIMENT).unwrap();
        Self { dir, server }
    }

    pub fn url(&self) -> String {
        format!("postgres:{}", self.server.url("postgres"))
    }

    pub fn hopcost(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(self.dir.path()).args(arguments).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.env("XDG_CACHE_HOME", self.dir.path().join("cache"));
        command
    }

    /// A run that lasts until something happens to it.
    pub fn long_run(&self) -> Command {
        self.long_run_on(&self.url())
    }

    /// The same on the way to the server that a URL names.
    pub fn long_run_on(&self, url: &str) -> Command {
        let mut command = self.hopcost(&["run", "same.toml", "--quick", "--set", "units=400"]);
        command.args(["--set", "window=50ms", "--set", "guard=10ms", "--target", url]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    pub fn has_schema(&self) -> bool {
        self.server.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'") == "1"
    }

    /// Blocks that are in the store.
    pub fn blocks(&self) -> i64 {
        let Ok(store) = rusqlite::Connection::open(self.dir.path().join("hopcost.db")) else {
            return 0;
        };
        store.query_row("SELECT count(*) FROM block", [], |row| row.get(0)).unwrap_or(0)
    }

    pub fn wait_for_blocks(&self, count: i64) {
        wait_until("a block is finished", || self.blocks() >= count);
    }
}

/// Waits until something is so.
#[allow(clippy::disallowed_methods)] // a test's patience needs a clock
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "not within a minute: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// What a command said.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// What is left to restore is all users' of this machine: one test at a time leaves something.
pub fn alone() -> MutexGuard<'static, ()> {
    static LEFT: Mutex<()> = Mutex::new(());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}
