//! What can be asked for.

use std::path::PathBuf;

use hopcost_core::Effort;

/// An experiment, and how it is wanted.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // they do not exclude each other
pub struct Request {
    /// The name of an experiment, or a .toml file.
    pub experiment: String,
    pub effort: Effort,
    /// The URL of a database; the experiment's own without it.
    pub target: Option<String>,
    /// DuckDB's library, for `duckdb:`.
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table, instead of the experiment's own.
    pub rows: Option<u64>,
    pub budget_s: Option<f64>,
    /// Scripts in pgbench's format, asked instead of the experiment's own workload: `PATH@WEIGHT`.
    pub scripts: Vec<String>,
    /// Variables that they begin with: `NAME=VALUE`.
    pub definitions: Vec<String>,
    /// Changes to the comparison: `KEY=VALUE`.
    pub set: Vec<String>,
    /// What is planted that is not there, e.g. `nodes=2,remote_ns=80`.
    pub emulate: Option<String>,
    /// Where generated data is kept, instead of the application's place for it.
    pub cache_dir: Option<PathBuf>,
    pub seed: u64,
    /// Leave the data in a database that runs, for the next run.
    pub keep_data: bool,
    /// Work in a database although others follow it.
    pub allow_server_changes: bool,
    /// Take CPUs off-line that a level leaves unused; written down before, put back after.
    pub allow_machine_changes: bool,
}

impl Request {
    /// An experiment as its file has it.
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
            keep_data: false,
            allow_server_changes: false,
            allow_machine_changes: false,
        }
    }

    pub fn quick(experiment: &str) -> Self {
        Self { effort: Effort::Quick, ..Self::of(experiment) }
    }

    /// The first option that only means something to a comparison on a database.
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

/// The user's own workload: each as it is written behind pgbench's option.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    /// `PATH@WEIGHT`
    pub files: Vec<String>,
    /// `NAME@WEIGHT`
    pub builtins: Vec<String>,
    /// `NAME=VALUE`
    pub definitions: Vec<String>,
}

/// Data in a database, for what runs no experiment.
#[derive(Clone, Debug, Default)]
pub struct DataRequest {
    /// The URL of the database.
    pub target: String,
    pub duckdb_lib: Option<PathBuf>,
    /// Rows of the main table.
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
