//! A test server with a `hopcost` that works on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_testkit::kept::kept;
use tempfile::TempDir;

use crate::bench::wait_until;

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

pub trait Server {
    const OURS: &'static str;

    fn target(&self) -> String;
    /// Over TCP at this local port.
    fn target_at(&self, port: u16) -> String;
    fn socket(&self) -> PathBuf;
    fn directory(&self) -> &Path;
    fn has_ours(&self) -> bool;
    fn sessions(&self) -> u32;
    /// Of them, those past preparing statements.
    fn sessions_at_work(&self) -> u32;
    fn is_being_filled(&self) -> bool;
    fn dump(&self) -> String;
    /// Like a crash.
    fn kill(&self);
    fn start_again(&self);
}

pub struct Bench<S> {
    pub dir: TempDir,
    pub server: S,
}

impl<S: Server> Bench<S> {
    pub fn with(server: S) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("same.toml"), EXPERIMENT).unwrap();
        Self { dir, server }
    }

    pub fn url(&self) -> String {
        self.server.target()
    }

    pub fn hopcost(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(self.dir.path()).args(arguments).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", self.dir.path().join("state")).env("XDG_CACHE_HOME", kept());
        command
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.hopcost(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn long_run(&self) -> Command {
        self.long_run_on(&self.url())
    }

    pub fn long_run_on(&self, url: &str) -> Command {
        let mut command = self.hopcost(&["run", "same.toml", "--quick", "--set", "units=400"]);
        command.args(["--set", "window=50ms", "--set", "guard=10ms", "--target", url]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Starts a run in a new store, and waits for its first blocks.
    pub fn at_work(&self, url: &str) -> Child {
        let _ = fs::remove_file(self.dir.path().join("hopcost.db"));
        let run = self.long_run_on(url).spawn().unwrap();
        self.wait_for_blocks(2);
        run
    }

    pub fn blocks(&self) -> i64 {
        let Ok(store) = rusqlite::Connection::open(self.dir.path().join("hopcost.db")) else {
            return 0;
        };
        store.query_row("SELECT count(*) FROM block", [], |row| row.get(0)).unwrap_or(0)
    }

    pub fn wait_for_blocks(&self, count: i64) {
        wait_until("a block is finished", || self.blocks() >= count);
    }

    pub fn failed(&self, run: Child, words: &[&str]) {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let report = text(&self.hopcost(&["report"]).output().unwrap());
        let is_told = |told: &str| words.iter().any(|words| told.contains(words));
        assert!(is_told(&text(&output)), "{}", text(&output));
        let told = report.split("was not finished (").nth(1).unwrap_or_else(|| panic!("{report}"));
        assert!(is_told(told), "{report}");
        let blocks = report.split(" blocks").next().unwrap().rsplit(' ').next().unwrap();
        assert!(blocks.parse::<i64>().unwrap() >= 2, "{report}");
    }

    pub fn restore(&self) -> Output {
        self.hopcost(&["restore"]).output().unwrap()
    }

    pub fn has_promise(&self) -> bool {
        let here = self.server.directory().file_name().unwrap().to_string_lossy().into_owned();
        text(&self.restore()).contains(&here)
    }

    /// Kills a command, then asserts that its data remains and `hopcost restore` drops it.
    pub fn killed(&self, mut child: Child, before: &str) {
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(self.server.has_ours());
        self.restored(before);
    }

    /// Asserts that `hopcost restore` drops what is left and nothing else.
    pub fn restored(&self, before: &str) {
        let restored = text(&self.restore());
        assert!(restored.contains(&format!("dropped the {} hopcost", S::OURS)), "{restored}");
        assert_eq!(self.server.dump(), before);
    }
}

/// Exit codes of an interrupted command that could, or could not, drop its data.
pub const PUT_BACK: i32 = 130;
pub const NOT_PUT_BACK: i32 = 1;

pub fn interrupted(child: Child, code: i32) -> String {
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    text(&output)
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Journals are shared by all tests of a user: only one test at a time leaves entries.
pub fn alone() -> MutexGuard<'static, ()> {
    static LEFT: Mutex<()> = Mutex::new(());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}
