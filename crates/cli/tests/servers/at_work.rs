//! A server of a test's own, a `hopcost` that works on it, and what may happen to both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hopcost_testkit::kept::kept;
use tempfile::TempDir;

use crate::bench::wait_until;

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

/// A server as `hopcost` meets it.
pub trait Server {
    /// What hopcost makes there: a schema, a database.
    const OURS: &'static str;

    /// What names it as a target.
    fn target(&self) -> String;
    /// The same over TCP, by this port of ours.
    fn target_at(&self, port: u16) -> String;
    /// Its Unix socket.
    fn socket(&self) -> PathBuf;
    /// Where its files are.
    fn directory(&self) -> &Path;
    /// Is anything there that hopcost made?
    fn has_ours(&self) -> bool;
    /// How many connections of hopcost's it has.
    fn sessions(&self) -> u32;
    /// How many of them ask what they are there for: statements are prepared before that.
    fn sessions_at_work(&self) -> u32;
    /// Are there rows of a table already that hopcost is filling?
    fn is_being_filled(&self) -> bool;
    /// Everything that is in it.
    fn dump(&self) -> String;
    /// Ends it as a crash does.
    fn kill(&self);
    /// Starts it after that.
    fn start_again(&self);
}

/// A server, and a directory to work in.
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

    /// One that goes on beside the test.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.hopcost(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
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

    /// A run that is at work and has finished some blocks. Each begins with a store of its own.
    pub fn at_work(&self, url: &str) -> Child {
        let _ = fs::remove_file(self.dir.path().join("hopcost.db"));
        let run = self.long_run_on(url).spawn().unwrap();
        self.wait_for_blocks(2);
        run
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

    /// What remains of a run that failed after some blocks: its reason is stored, and so are these.
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

    /// What `hopcost restore` says, of this server or of others.
    pub fn restore(&self) -> Output {
        self.hopcost(&["restore"]).output().unwrap()
    }

    /// Is something written down that is to be dropped in this server?
    pub fn has_promise(&self) -> bool {
        let here = self.server.directory().file_name().unwrap().to_string_lossy().into_owned();
        text(&self.restore()).contains(&here)
    }

    /// Kills a command: what it made is there, and `hopcost restore` drops it.
    pub fn killed(&self, mut child: Child, before: &str) {
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(self.server.has_ours());
        self.restored(before);
    }

    /// `hopcost restore` drops what is left, and nothing else.
    pub fn restored(&self, before: &str) {
        let restored = text(&self.restore());
        assert!(restored.contains(&format!("dropped the {} hopcost", S::OURS)), "{restored}");
        assert_eq!(self.server.dump(), before);
    }
}

/// The codes of a command that was interrupted and could, or could not, drop what it had made.
pub const PUT_BACK: i32 = 130;
pub const NOT_PUT_BACK: i32 = 1;

/// Interrupts a command: what it says when it ends with this code.
pub fn interrupted(child: Child, code: i32) -> String {
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    text(&output)
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
