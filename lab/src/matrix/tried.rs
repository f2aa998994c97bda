//! One experiment on an engine: on this machine, emulated, or in a guest.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hopcost_data::experiments::EXPERIMENTS;
use serde_json::Value;
use xtask::vm::{Kernel, Topology, Vm};
use xtask::{libduckdb, newer_mysql};

use crate::validate::figures;

pub const ENGINES: [(&str, &str); 5] = [
    ("sqlite", "SQLite"),
    ("postgres:managed", "PostgreSQL"),
    ("mariadb:managed", "MariaDB"),
    ("mysql:managed", "MySQL"),
    ("duckdb", "DuckDB"),
];
/// Experiments on stand-ins for a database that servers can run too.
const OF_SERVERS_TOO: [&str; 2] = ["log-distance", "context-switches"];
const SERVERS: [&str; 3] = ["postgres:managed", "mariadb:managed", "mysql:managed"];
pub const OWN: &str = "its own";
const NOT_HERE: i32 = 3;
pub const HARDWARE: &str = "hardware";
/// For machines with nothing to compare, in turn: distance in built-in SQLite, sets of CPUs for a
/// server, threads of one core.
const EMULATED: [&str; 4] =
    ["nodes=2,remote_ns=80", "nodes=2", "nodes=1,siblings=1.2", "nodes=1,siblings=2"];
const ROWS: u32 = 20_000;
/// A table in memory must have several huge pages per node.
const ROWS_IN_MEMORY: u32 = 120_000;
const BUDGET: &str = "40s";
const GUEST_SECONDS: u64 = 1800;

pub type Named = (&'static str, &'static str);

pub struct Cell {
    pub verdict: String,
    pub words: String,
}

impl Cell {
    fn read(printed: &[u8], said: &[u8], has_ended_as_not_here: bool) -> Self {
        let Ok(result) = serde_json::from_slice::<Value>(printed) else {
            let said = String::from_utf8_lossy(said);
            let words = said.lines().next().unwrap_or_default().trim_start_matches("hopcost: ");
            let verdict = if has_ended_as_not_here { "NOT_APPLICABLE" } else { "not run" };
            return Self { verdict: verdict.to_owned(), words: words.to_owned() };
        };
        let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
        let percent = |share: f64| format!("{:+.1}%", 100.0 * share);
        let words = match figures(&result["estimate"]) {
            Some([point, low, high]) if text("verdict") != "REFUSED" => {
                let is_share = result["estimate"]["unit"] == "fraction";
                let told =
                    |value: f64| if is_share { percent(value) } else { format!("{value:.0}") };
                format!("{} ({} … {})", told(point), told(low), told(high))
            }
            _ => text("reason"),
        };
        Self { verdict: text("verdict"), words }
    }

    pub fn applies(&self) -> bool {
        self.verdict != "NOT_APPLICABLE"
    }

    pub fn is_wrong(&self) -> bool {
        ["not run", "REFUSED"].contains(&self.verdict.as_str())
    }

    pub fn told(&self) -> String {
        format!("{} {}", self.verdict.replace('_', " "), self.words.replace('|', "/"))
    }
}

/// Few, because the run is short; the scalability law needs three numbers.
fn streams(file: &str) -> &'static str {
    if file.contains("\"scaling\"") {
        "--set streams=1+2+4"
    } else if file.contains("[sweep]") {
        "--set streams=4"
    } else {
        ""
    }
}

pub fn targets(name: &str, file: &str) -> Vec<&'static str> {
    if file.contains("probes = ") {
        vec![HARDWARE]
    } else if name == "client-distance" {
        SERVERS.to_vec()
    } else if file.contains("target = \"postgres\"") {
        // Only these two have parallel workers.
        vec!["postgres:managed", "duckdb"]
    } else if OF_SERVERS_TOO.contains(&name) {
        [OWN].into_iter().chain(SERVERS).collect()
    } else if file.contains("target = ") {
        vec![OWN]
    } else {
        ENGINES.iter().map(|(target, _)| *target).collect()
    }
}

fn named_here(target: &str) -> Result<String> {
    Ok(match target {
        "mysql:managed" => {
            format!("mysql:managed?programs={}", newer_mysql::programs()?.display())
        }
        "duckdb" => format!("duckdb:lib={}", libduckdb::ensure()?.display()),
        _ => target.to_owned(),
    })
}

/// Repeats with a longer budget if the run lacked one.
pub fn on_this_machine(
    hopcost: &Path,
    of: Named,
    target: &str,
    emulated: Option<&str>,
) -> Result<Cell> {
    let cell = once(hopcost, of, target, emulated, BUDGET)?;
    let longer = cell.words.rsplit_once("--budget ").map(|(_, rest)| rest);
    match longer.filter(|_| cell.verdict == "INCONCLUSIVE") {
        Some(longer) => once(hopcost, of, target, emulated, longer),
        None => Ok(cell),
    }
}

fn once(
    hopcost: &Path,
    (name, file): Named,
    target: &str,
    emulated: Option<&str>,
    budget: &str,
) -> Result<Cell> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(hopcost);
    command.args(["run", name, "--quick", "--json", "--store"]).arg(dir.path().join("store.db"));
    if target != HARDWARE {
        command.args(["--budget", budget]).args(streams(file).split_whitespace());
    }
    if ![HARDWARE, OWN].contains(&target) {
        command.args(["--target", &named_here(target)?]);
    }
    command.args(emulated.iter().flat_map(|how| ["--emulate", how]));
    let output = command.output().with_context(|| format!("{command:?}"))?;
    Ok(Cell::read(&output.stdout, &output.stderr, output.status.code() == Some(NOT_HERE)))
}

pub fn emulated(hopcost: &Path, of: Named, target: &str) -> Result<Option<Cell>> {
    for how in EMULATED {
        let cell = on_this_machine(hopcost, of, target, Some(how))?;
        if cell.applies() {
            let words = format!("{} ({how})", cell.words);
            return Ok(Some(Cell { words, ..cell }));
        }
    }
    Ok(None)
}

/// Data made on this machine, because a guest would take minutes.
pub fn generated(hopcost: &Path) -> Result<tempfile::TempDir> {
    let cache = tempfile::tempdir()?;
    for (workload, rows) in [("reporting_p1", ROWS), ("standard_oltp", 1), ("newest_bounded", ROWS)]
    {
        let mut load = Command::new(hopcost);
        load.args(["drive", "sqlite", "--workload", workload, "--duration", "0.1s"]);
        load.args(["--scale", &rows.to_string()]).env("XDG_CACHE_HOME", cache.path());
        let output = load.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{load:?}: {said}");
    }
    Ok(cache)
}

pub fn built_in() -> impl Iterator<Item = Named> {
    let is_built_in =
        |file: &str| !file.contains("target = \"postgres\"") && !file.contains("probes = ");
    EXPERIMENTS.iter().copied().filter(move |(_, file)| is_built_in(file))
}

pub fn in_a_guest(
    hopcost: &Path,
    cache: &Path,
    topology: &str,
    experiments: &[Named],
) -> Result<Vec<Cell>> {
    // Unbound memory stays where it was touched only without automatic balancing.
    let mut script =
        String::from("export XDG_CACHE_HOME=/cache\necho 0 > /proc/sys/kernel/numa_balancing\n");
    for (name, file) in experiments {
        let rows = match () {
            () if file.contains("\"tpcc\"") => 1,
            () if file.contains("\"hashtable\"") => ROWS_IN_MEMORY,
            () => ROWS,
        };
        let streams = streams(file);
        let _ = writeln!(
            script,
            "hopcost run {name} --quick --json --store /cache/{name}.db --scale {rows} \
             {streams} --set units=8 --set window=0.6s --set guard=50ms \
             > /out/{name}.json 2> /out/{name}.err
             rm -f /cache/{name}.db"
        );
    }
    let topology: Topology = topology.parse().map_err(anyhow::Error::msg)?;
    let mut guest = Vm::new(topology, Kernel::V6_1).mib_per_node(1200).seconds(GUEST_SECONDS);
    for file in fs::read_dir(cache.join("hopcost"))? {
        let file = file?;
        guest = guest.with(&file.path(), &format!("/cache/hopcost/{}", file.file_name().display()));
    }
    let outcome = guest.with(hopcost, "/usr/local/bin/hopcost").run(&script)?;
    let cell = |name: &str| -> Result<Cell> {
        let [json, said] = ["json", "err"].map(|end| outcome.read(&format!("{name}.{end}")));
        Ok(Cell::read(json?.as_bytes(), said?.as_bytes(), false))
    };
    experiments.iter().map(|(name, _)| cell(name)).collect()
}
