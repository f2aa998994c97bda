//! `cargo lab matrix`: every experiment at quick scale, on each engine, on this machine, on emulated ones over
//! it, and in guests with several nodes and siblings. What each ended in is held against what it must, and
//! written to docs/MATRIX.md.
//!
//! Limits: guests run by emulation of every instruction: their figures mean nothing and are left out, their
//! verdicts and proofs are shown. Servers are not in the guest; `cargo xtask test` has them there. SQL Server
//! cannot be installed where this is run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hopcost_data::experiments::EXPERIMENTS;
use serde_json::Value;

use xtask::cargo::build_hopcost;
use xtask::vm::{Kernel, Topology, Vm};
use xtask::{libduckdb, newer_mysql, project};

/// The engines that this is tried on, and what each is called in the table.
const ENGINES: [(&str, &str); 5] = [
    ("sqlite", "SQLite"),
    ("postgres:managed", "PostgreSQL"),
    ("mariadb:managed", "MariaDB"),
    ("mysql:managed", "MySQL"),
    ("duckdb", "DuckDB"),
];
/// Servers have what the files of these leave to hopcost's own: a log, and calls between processes.
const OF_SERVERS_TOO: [&str; 2] = ["log-distance", "context-switches"];
const SERVERS: [&str; 3] = ["postgres:managed", "mariadb:managed", "mysql:managed"];
const OWN: &str = "its own";
const NOT_RUN_YET: &str = "not run yet";
/// The exit code of what this machine, or this target, cannot do.
const NOT_HERE: i32 = 3;
/// SQL Server's target has objections to these, and takes the others.
const NOT_ON_SQL_SERVER: [&str; 1] = ["parallel-affinity"];
const HARDWARE: &str = "hardware";
/// Tried in turn where the machine has nothing to compare: distance in hopcost's own SQLite, sets of CPUs
/// alone in a server, threads of one core.
const EMULATED: [&str; 4] =
    ["nodes=2,remote_ns=80", "nodes=2", "nodes=1,siblings=1.2", "nodes=1,siblings=2"];
/// In the guest, of data sets that are not counted in warehouses.
const ROWS: u32 = 20_000;
/// Of a table in memory, which has to have several large pages for each node.
const ROWS_IN_MEMORY: u32 = 120_000;
const BUDGET: &str = "40s";
/// Tried in turn, too: four nodes on two sockets; two cores under each last-level cache.
const GUESTS: [&str; 2] = ["n4s2", "n2c2"];
/// Experiments in one guest, and how long it may take for them.
const A_GUEST: usize = 5;
const GUEST_SECONDS: u64 = 1800;

/// An experiment's name and its file.
type Named = (&'static str, &'static str);

/// What an experiment may end in on a machine of one node without siblings; anything that is measured, where
/// it is not named.
fn expected(name: &str) -> &'static [&'static str] {
    match name {
        "access-cost" | "server-score" => &["MEASURED"],
        "bounded-max" | "log-distance" | "audit-cost" | "context-switches" | "client-distance" => {
            &["COST", "GAIN"]
        }
        _ => &["COST", "GAIN", "EQUIVALENT", "INCONCLUSIVE", "MEASURED"],
    }
}

/// What came of one run.
struct Cell {
    verdict: String,
    words: String,
}

impl Cell {
    /// From what a run printed; or it said that it cannot be done here.
    fn read(printed: &[u8], said: &[u8], has_ended_as_not_here: bool) -> Self {
        let Ok(result) = serde_json::from_slice::<Value>(printed) else {
            let said = String::from_utf8_lossy(said);
            let words = said.lines().next().unwrap_or_default().trim_start_matches("hopcost: ");
            let verdict = if has_ended_as_not_here { "NOT_APPLICABLE" } else { "not run" };
            return Self { verdict: verdict.to_owned(), words: words.to_owned() };
        };
        let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
        let figure = |key: &str| result["estimate"][key].as_f64();
        let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
        let words = match (figure("point"), figure("low"), figure("high")) {
            (Some(point), Some(low), Some(high)) if text("verdict") != "REFUSED" => {
                let is_share = result["estimate"]["unit"] == "fraction";
                let told =
                    |value: f64| if is_share { percent(value) } else { format!("{value:.0}") };
                format!("{} ({} … {})", told(point), told(low), told(high))
            }
            _ => text("reason"),
        };
        Self { verdict: text("verdict"), words }
    }

    fn applies(&self) -> bool {
        self.verdict != "NOT_APPLICABLE"
    }

    /// Has it no verdict where there should be one?
    fn is_wrong(&self) -> bool {
        ["not run", "REFUSED"].contains(&self.verdict.as_str())
    }

    fn told(&self) -> String {
        format!("{} {}", self.verdict.replace('_', " "), self.words.replace('|', "/"))
    }
}

/// All of it, or what is named, the rest of the table staying as it was: 0 where each ended as it must. What is
/// known is written down at once.
pub fn run(named: &[String], place: Option<Place>, engine: Option<&str>) -> Result<u8> {
    let unknown = named.iter().find(|name| EXPERIMENTS.iter().all(|(of, _)| of != name));
    if let Some(unknown) = unknown {
        bail!("there is no experiment '{unknown}'");
    }
    let hopcost = build_hopcost()?;
    let is_meant = |of: Place, name: &str| {
        place.is_none_or(|place| place == of)
            && (named.is_empty() || named.iter().any(|wanted| wanted == name))
    };
    let mut table = Table::read();
    for (name, file) in EXPERIMENTS.iter().filter(|(name, _)| is_meant(Place::Here, name)) {
        let is_asked_for = |target: &&str| engine.is_none_or(|engine| target.starts_with(engine));
        for target in targets(name, file).into_iter().filter(is_asked_for) {
            table.here(&hopcost, (name, file), target)?;
        }
    }
    let in_guests: Vec<Named> =
        built_in().filter(|(name, _)| engine.is_none() && is_meant(Place::Guest, name)).collect();
    if !in_guests.is_empty() {
        let cache = generated(&hopcost)?;
        for some in in_guests.chunks(A_GUEST) {
            table.guest(&hopcost, cache.path(), some)?;
        }
    }
    for wrong in &table.wrong {
        println!("NOT AS IT MUST: {wrong}");
    }
    Ok(u8::from(!table.wrong.is_empty()))
}

/// Where experiments are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// On this machine, and emulated ones over it
    Here,
    /// In emulated machines
    Guest,
}

/// What is known of each experiment in each place, and what was not as it must.
struct Table {
    path: PathBuf,
    before: String,
    lines: BTreeMap<String, String>,
    wrong: Vec<String>,
}

impl Table {
    fn read() -> Self {
        let path = project().join("docs/MATRIX.md");
        let before = fs::read_to_string(&path).unwrap_or_default();
        Self { path, before, lines: BTreeMap::new(), wrong: Vec::new() }
    }

    fn here(&mut self, hopcost: &Path, of: Named, target: &str) -> Result<()> {
        let (name, _) = of;
        let here = on_this_machine(hopcost, of, target, None)?;
        if here.applies() && !expected(name).contains(&here.verdict.as_str()) {
            self.wrong.push(format!("{name} on {target}: {}", here.told()));
        }
        let emulated = if here.applies() { None } else { emulated(hopcost, of, target)? };
        if let Some(wrong) = emulated.as_ref().filter(|cell| cell.is_wrong()) {
            self.wrong.push(format!("{name} on {target}, emulated: {}", wrong.told()));
        }
        let emulated = emulated.as_ref().map_or("–".to_owned(), Cell::told);
        self.learn(key(name, target), &format!("{} | {emulated} |", here.told()))
    }

    fn guest(&mut self, hopcost: &Path, cache: &Path, some: &[Named]) -> Result<()> {
        let mut left = some.to_vec();
        for topology in GUESTS {
            let ended = in_a_guest(hopcost, cache, topology, &left).unwrap_or_else(|error| {
                let words = error.to_string().lines().next().unwrap_or_default().to_owned();
                let not_run = || Cell { verdict: "not run".to_owned(), words: words.clone() };
                left.iter().map(|_| not_run()).collect()
            });
            for ((name, _), cell) in left.iter().zip(&ended) {
                self.learn(key(name, "guest"), &format!("{} |", in_guest(cell, topology)))?;
            }
            let cells = left.iter().zip(&ended);
            // A refusal counts only where its cause was there, and nobody was in the guest's way.
            let wrong =
                cells.clone().filter(|(_, cell)| cell.is_wrong()).map(|((name, _), cell)| {
                    format!("{name} in the guest {topology}: {}", cell.told())
                });
            self.wrong.extend(wrong);
            let not_there = cells.filter(|(_, cell)| cell.verdict == "NOT_APPLICABLE");
            left = not_there.map(|(named, _)| *named).collect();
            if left.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn learn(&mut self, key: String, words: &str) -> Result<()> {
        println!("{key} {words}");
        let line = format!("{key} {words}");
        self.lines.insert(key, line);
        Ok(fs::write(&self.path, self.text())?)
    }

    fn text(&self) -> String {
        let lines = |keys: Vec<String>| -> String {
            keys.into_iter().map(|key| format!("{}\n", self.line(&key))).collect()
        };
        let here = EXPERIMENTS.iter().flat_map(|(name, file)| {
            targets(name, file).into_iter().map(move |target| key(name, target))
        });
        let guest = built_in().map(|(name, _)| key(name, "guest"));
        let [here, guest] = [lines(here.collect()), lines(guest.collect())];
        format!("{HEAD}{}{DETAILS}{here}{GUEST}{guest}", self.by_engine())
    }

    /// A column for each engine: how each experiment ended there, in a word or two.
    fn by_engine(&self) -> String {
        let engines = ENGINES.iter().map(|(_, title)| *title);
        let titles: Vec<&str> = ["hopcost's own"].into_iter().chain(engines).collect();
        let mut all = format!("| experiment | {} | SQL Server |\n", titles.join(" | "));
        let _ = writeln!(all, "|{}", "---|".repeat(titles.len() + 2));
        for (name, file) in EXPERIMENTS {
            let targets = targets(name, file);
            let own = [HARDWARE, OWN].into_iter().find(|target| targets.contains(target));
            let of = |target: &str| {
                let is_meant = targets.contains(&target);
                is_meant.then(|| brief(&self.line(&key(name, target))))
            };
            let own = own.and_then(of);
            let engines = ENGINES.iter().map(|(target, _)| of(target));
            let is_of_engines = targets.iter().any(|target| ![HARDWARE, OWN].contains(target))
                && !NOT_ON_SQL_SERVER.contains(name);
            let experimental = is_of_engines.then(|| "experimental".to_owned());
            let cells = [own].into_iter().chain(engines).chain([experimental]);
            let cells: Vec<String> = cells.map(|cell| cell.unwrap_or("–".to_owned())).collect();
            let _ = writeln!(all, "| {name} | {} |", cells.join(" | "));
        }
        all
    }

    /// As it is known now, or stood there before.
    fn line(&self, key: &str) -> String {
        let before = || self.before.lines().find(|line| line.starts_with(key)).map(str::to_owned);
        let line = self.lines.get(key).cloned().or_else(before);
        line.unwrap_or_else(|| format!("{key} {NOT_RUN_YET} |"))
    }
}

/// What it ended in there, without figures that mean nothing.
fn in_guest(cell: &Cell, topology: &str) -> String {
    let is_told = ["NOT_APPLICABLE", "REFUSED", "not run"].contains(&cell.verdict.as_str());
    let told = if is_told { cell.told() } else { cell.verdict.clone() };
    format!("{topology} | {told}")
}

fn key(name: &str, place: &str) -> String {
    format!("| {name} | {place} |")
}

/// A line in a word or two: the verdict and its figure, here or else emulated.
fn brief(line: &str) -> String {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [here, emulated] = [3, 4].map(|n| cells.get(n).copied().unwrap_or_default());
    if here.starts_with("NOT APPLICABLE") {
        let is_tried = !["", "–"].contains(&emulated);
        return if is_tried { format!("*{}*", verdict(emulated)) } else { "not here".to_owned() };
    }
    verdict(here)
}

/// The verdict of a cell, and its figure where one was found.
fn verdict(cell: &str) -> String {
    let (figure, has_interval) = match cell.split_once(" (") {
        Some((figure, _)) => (figure, true),
        None => (cell, false),
    };
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase());
    let words = figure.split(' ').take_while(is_word).collect::<Vec<_>>().join(" ");
    if has_interval && !["INCONCLUSIVE", "REFUSED"].contains(&words.as_str()) {
        figure.to_owned()
    } else if words.is_empty() {
        cell.to_owned()
    } else {
        words
    }
}

const HEAD: &str = "# Every experiment, and what it ended in

Each experiment on each engine. In italics: on an emulated machine, as this one has nothing to compare. \
*experimental*: SQL Server's statements are there (`hopcost plan --target sqlserver://… --sql`), and were never \
tried on SQL Server. A dash: the experiment is about something else. The versions: SQLite as built in, PostgreSQL 15, \
MariaDB 10.11, MySQL 9.7, DuckDB 1.5.

";
const DETAILS: &str = "
Written by `cargo lab matrix`, which runs all of them at quick scale with a budget of 40 seconds each, or of \
what a run says that it needs, at 4 streams, or at 1, 2 and 4 where a law is looked for. The \
machine: a guest with two CPUs, one memory node and no siblings. What does not apply there is tried on an \
emulated machine over it, which checks the method and says nothing of any machine. Figures are costs, a share \
of throughput, with their intervals, or what was measured.

| experiment | target | this machine | emulated |
|---|---|---|---|
";
const GUEST: &str = "
In a guest with four memory nodes on two sockets and two threads a core (n4s2); what does not apply there, in one \
with two nodes of two cores (n2c2). Their processors are emulated instruction by instruction (QEMU): there figures \
mean nothing, and verdicts show that the experiment was placed, proved and judged. Built-in databases alone; the \
probes, and PostgreSQL, run there in the tests.

| experiment | where | machine | ended in |
|---|---|---|---|
";

/// As many streams as a short run has time for; a law takes three numbers of them.
fn streams(file: &str) -> &'static str {
    if file.contains("\"scaling\"") {
        "--set streams=1+2+4"
    } else if file.contains("[sweep]") {
        "--set streams=4"
    } else {
        ""
    }
}

/// What an experiment's file leaves open is run on each; what it names, on that.
fn targets(name: &str, file: &str) -> Vec<&'static str> {
    if file.contains("probes = ") {
        vec![HARDWARE]
    } else if name == "client-distance" {
        SERVERS.to_vec()
    } else if file.contains("target = \"postgres\"") {
        // It is about parallel workers, which two of them have.
        vec!["postgres:managed", "duckdb"]
    } else if OF_SERVERS_TOO.contains(&name) {
        [OWN].into_iter().chain(SERVERS).collect()
    } else if file.contains("target = ") {
        vec![OWN]
    } else {
        ENGINES.iter().map(|(target, _)| *target).collect()
    }
}

/// What names it on this machine, where the system has no such server or library.
fn named_here(target: &str) -> Result<String> {
    Ok(match target {
        "mysql:managed" => {
            format!("mysql:managed?programs={}", newer_mysql::programs()?.display())
        }
        "duckdb" => format!("duckdb:lib={}", libduckdb::ensure()?.display()),
        _ => target.to_owned(),
    })
}

/// With a longer budget where a run says that this is what it lacks.
fn on_this_machine(
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

/// The first emulated machine to which it applies.
fn emulated(hopcost: &Path, of: Named, target: &str) -> Result<Option<Cell>> {
    for how in EMULATED {
        let cell = on_this_machine(hopcost, of, target, Some(how))?;
        if cell.applies() {
            let words = format!("{} ({how})", cell.words);
            return Ok(Some(Cell { words, ..cell }));
        }
    }
    Ok(None)
}

/// The data, as this machine leaves it in its cache: to make it would take a guest minutes.
fn generated(hopcost: &Path) -> Result<tempfile::TempDir> {
    let cache = tempfile::tempdir()?;
    for (workload, rows) in [("reporting_p1", ROWS), ("standard_oltp", 1), ("newest_bounded", ROWS)]
    {
        let mut load = Command::new(hopcost);
        load.args(["drive", "sqlite", "--workload", workload, "--duration", "0.1s"]);
        load.args(["--scale", &rows.to_string()]).env("XDG_CACHE_HOME", cache.path());
        let output = load.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{load:?}: {said}");
    }
    Ok(cache)
}

/// Those on a database that is built in.
fn built_in() -> impl Iterator<Item = Named> {
    let is_built_in =
        |file: &str| !file.contains("target = \"postgres\"") && !file.contains("probes = ");
    EXPERIMENTS.iter().copied().filter(move |(_, file)| is_built_in(file))
}

/// Some of them in one guest, with as little data as tells anything.
fn in_a_guest(
    hopcost: &Path,
    cache: &Path,
    topology: &str,
    experiments: &[Named],
) -> Result<Vec<Cell>> {
    // What is not bound stays where it was touched only where the kernel does not balance memory.
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
