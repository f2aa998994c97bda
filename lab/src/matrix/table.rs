//! docs/reference/matrix.md: written after each outcome; rows that did not run stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hopcost_data::experiments::EXPERIMENTS;
use xtask::project;

use super::tried::{
    Cell, ENGINES, HARDWARE, Named, OWN, built_in, emulated, in_a_guest, on_this_machine, targets,
};

const NOT_RUN_YET: &str = "not run yet";
/// Not possible with SQL Server's target, which accepts the others.
const NOT_ON_SQL_SERVER: [&str; 1] = ["parallel-affinity"];
/// Tried in turn: four nodes on two sockets; two cores under each last-level cache.
const GUESTS: [&str; 2] = ["n4s2", "n2c2"];

/// Acceptable outcomes on a machine of one node without siblings; by default any measurement.
fn expected(name: &str) -> &'static [&'static str] {
    match name {
        "access-cost" | "server-score" => &["MEASURED"],
        "bounded-max" | "log-distance" | "audit-cost" | "context-switches" | "client-distance" => {
            &["COST", "GAIN"]
        }
        _ => &["COST", "GAIN", "EQUIVALENT", "INCONCLUSIVE", "MEASURED"],
    }
}

pub struct Table {
    path: PathBuf,
    before: String,
    lines: BTreeMap<String, String>,
    pub wrong: Vec<String>,
}

impl Table {
    pub fn read() -> Self {
        let path = project().join("docs/reference/matrix.md");
        let before = fs::read_to_string(&path).unwrap_or_default();
        Self { path, before, lines: BTreeMap::new(), wrong: Vec::new() }
    }

    pub fn here(&mut self, hopcost: &Path, of: Named, target: &str) -> Result<()> {
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

    pub fn guest(&mut self, hopcost: &Path, cache: &Path, some: &[Named]) -> Result<()> {
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

    fn line(&self, key: &str) -> String {
        let before = || self.before.lines().find(|line| line.starts_with(key)).map(str::to_owned);
        let line = self.lines.get(key).cloned().or_else(before);
        line.unwrap_or_else(|| format!("{key} {NOT_RUN_YET} |"))
    }
}

fn in_guest(cell: &Cell, topology: &str) -> String {
    let is_told = ["NOT_APPLICABLE", "REFUSED", "not run"].contains(&cell.verdict.as_str());
    let told = if is_told { cell.told() } else { cell.verdict.clone() };
    format!("{topology} | {told}")
}

fn key(name: &str, place: &str) -> String {
    format!("| {name} | {place} |")
}

fn brief(line: &str) -> String {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [here, emulated] = [3, 4].map(|n| cells.get(n).copied().unwrap_or_default());
    if here.starts_with("NOT APPLICABLE") {
        let is_tried = !["", "–"].contains(&emulated);
        return if is_tried { format!("*{}*", verdict(emulated)) } else { "not here".to_owned() };
    }
    verdict(here)
}

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
