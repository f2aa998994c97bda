//! The cells of the matrix: each experiment on each engine that it is about.

use hopcost_app::Reported;
use hopcost_core::{ExperimentResult, Known};
use hopcost_data::experiments::EXPERIMENTS;
use hopcost_view::page::Page;

/// An experiment's name and file.
pub type Named = (&'static str, &'static str);

/// The scheme of a target's URL, and the title of its column.
pub const ENGINES: [(&str, &str); 5] = [
    ("sqlite", "SQLite"),
    ("postgres", "PostgreSQL"),
    ("mariadb", "MariaDB"),
    ("mysql", "MySQL"),
    ("duckdb", "DuckDB"),
];
/// The hardware, or a stand-in for a database.
pub const OWN: &str = "hopcost";
const SERVERS: [&str; 3] = ["postgres", "mariadb", "mysql"];
/// Experiments on stand-ins for a database that servers can run too.
const OF_SERVERS_TOO: [&str; 2] = ["log-distance", "context-switches"];
/// For machines with nothing to compare, in turn: distance in built-in SQLite, sets of CPUs for a
/// server, threads of one core.
pub const EMULATED: [&str; 4] =
    ["nodes=2,remote_ns=80", "nodes=2", "nodes=1,siblings=1.2", "nodes=1,siblings=2"];

pub fn engines(name: &str, file: &str) -> Vec<&'static str> {
    if name == "client-distance" {
        SERVERS.to_vec()
    } else if file.contains("target = \"postgres\"") {
        // Only these two have parallel workers.
        vec!["postgres", "duckdb"]
    } else if OF_SERVERS_TOO.contains(&name) {
        [OWN].into_iter().chain(SERVERS).collect()
    } else if file.contains("probes = ") || file.contains("target = ") {
        vec![OWN]
    } else {
        ENGINES.iter().map(|(engine, _)| *engine).collect()
    }
}

/// Not possible with SQL Server's target, which accepts the others.
pub fn is_of_sql_server(name: &str, file: &str) -> bool {
    name != "parallel-affinity" && engines(name, file) != [OWN]
}

pub fn is_of_hardware(file: &str) -> bool {
    file.contains("probes = ")
}

pub fn built_in() -> impl Iterator<Item = Named> {
    let is_built_in = |file: &str| !file.contains("target = \"postgres\"") && !is_of_hardware(file);
    EXPERIMENTS.iter().copied().filter(move |(_, file)| is_built_in(file))
}

/// Few, because the run is short; the scalability law needs three numbers, and the many sessions of
/// `context-switches` are its subject.
pub fn streams(file: &str) -> &'static str {
    if file.contains("\"echo\"") {
        ""
    } else if file.contains("\"scaling\"") {
        "--set streams=1+2+4"
    } else if file.contains("[sweep]") {
        "--set streams=4"
    } else {
        ""
    }
}

/// The engine that a run was on.
pub fn engine_of(result: &ExperimentResult) -> &'static str {
    let target = result.target.get().map_or("", String::as_str);
    let is_of = |engine: &str| target.split([':', '?']).next() == Some(engine);
    ENGINES.iter().map(|(engine, _)| *engine).find(|engine| is_of(engine)).unwrap_or(OWN)
}

/// A run of the matrix, as stored.
pub struct Cell {
    pub experiment: String,
    pub engine: &'static str,
    pub is_emulated: bool,
    reported: Reported,
}

impl Cell {
    pub fn new(reported: Reported) -> Option<Self> {
        let result = reported.result().ok()?;
        let (experiment, engine) = (result.experiment.clone(), engine_of(result));
        Some(Self { experiment, engine, is_emulated: result.emulated, reported })
    }

    pub fn is_the_same_as(&self, other: &Self) -> bool {
        (&self.experiment, self.engine, self.is_emulated)
            == (&other.experiment, other.engine, other.is_emulated)
    }

    /// Of the figure's interval.
    pub fn ends(&self) -> Option<[f64; 2]> {
        match &self.reported.result().ok()?.estimate {
            Known::Is(figure) => Some([figure.estimate.low, figure.estimate.high]),
            Known::Missing(_) => None,
        }
    }

    pub fn show<T>(&self, show: impl FnOnce(&Page<'_>) -> T) -> T {
        self.reported.show(show)
    }
}
