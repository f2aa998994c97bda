//! A directory in which hopcost is tried, with an experiment that is loaded in a moment.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// One table.
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
"#;

/// A directory with experiments, a cache and stores.
pub struct Bench {
    dir: TempDir,
}

impl Bench {
    /// With experiments of these names and texts.
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
        command.current_dir(self.dir.path()).args(arguments);
        command.env("XDG_CACHE_HOME", self.path("cache")).env("NO_COLOR", "1");
        command
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}
