//! Requests to run experiments.

use std::path::PathBuf;

use hopcost_core::Effort;
use hopcost_method::pace::StartsAsked;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // they do not exclude each other
pub struct Request {
    /// A built-in name, or a .toml file.
    pub experiment: String,
    pub effort: Effort,
    /// `None`: the experiment's own, or the default.
    pub target: Option<String>,
    pub duckdb_lib: Option<PathBuf>,
    /// Of the main table. `None`: the experiment's own.
    pub rows: Option<u64>,
    pub budget_s: Option<f64>,
    /// pgbench scripts that replace the experiment's workload: `PATH@WEIGHT`.
    pub scripts: Vec<String>,
    /// Initial variables: `NAME=VALUE`.
    pub definitions: Vec<String>,
    /// Changes to the comparison: `KEY=VALUE`.
    pub set: Vec<String>,
    /// Emulated nodes or latencies, such as `nodes=2,remote_ns=80`.
    pub emulate: Option<String>,
    /// `None`: the default of [`Dirs`](crate::Dirs).
    pub cache_dir: Option<PathBuf>,
    pub seed: u64,
    pub starts: StartsAsked,
    /// Keep the data on an existing server for the next run.
    pub keep_data: bool,
    /// Write to a server although it has replicas.
    pub allow_server_changes: bool,
    /// Take CPUs off-line that a variant leaves unused, with a settings journal.
    pub allow_machine_changes: bool,
}

impl Request {
    pub fn of(experiment: &str) -> Self {
        Self {
            experiment: experiment.to_owned(),
            effort: Effort::Normal,
            target: None,
            duckdb_lib: None,
            rows: None,
            budget_s: None,
            scripts: Vec::new(),
            definitions: Vec::new(),
            set: Vec::new(),
            emulate: None,
            cache_dir: None,
            seed: 1,
            starts: StartsAsked::One,
            keep_data: false,
            allow_server_changes: false,
            allow_machine_changes: false,
        }
    }

    pub fn quick(experiment: &str) -> Self {
        Self { effort: Effort::Quick, ..Self::of(experiment) }
    }

    /// The first option that a hardware experiment cannot use.
    pub(crate) fn of_a_comparison(&self) -> Option<&'static str> {
        [
            ("--target", self.target.is_some()),
            ("--duckdb-lib", self.duckdb_lib.is_some()),
            ("--scale", self.rows.is_some()),
            ("--file", !self.scripts.is_empty()),
            ("--set", !self.set.is_empty()),
            ("--cache-dir", self.cache_dir.is_some()),
            ("--keep-data", self.keep_data),
            ("--allow-server-changes", self.allow_server_changes),
            ("--allow-machine-changes", self.allow_machine_changes),
        ]
        .into_iter()
        .find_map(|(option, is_given)| is_given.then_some(option))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Scripts {
    /// `PATH@WEIGHT`
    pub files: Vec<String>,
    /// `NAME@WEIGHT`
    pub builtins: Vec<String>,
    /// `NAME=VALUE`
    pub definitions: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct DataRequest {
    pub target: String,
    pub duckdb_lib: Option<PathBuf>,
    pub rows: Option<u64>,
    pub cache_dir: Option<PathBuf>,
    pub allow_server_changes: bool,
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_on_the_hardware_takes_a_budget_and_nothing_of_a_database() {
        let asked = Request { budget_s: Some(2.0), ..Request::of("access-cost") };
        assert_eq!(asked.of_a_comparison(), None);
        assert_eq!(Request { rows: Some(7), ..asked }.of_a_comparison(), Some("--scale"));
    }
}
