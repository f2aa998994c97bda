//! `cargo xtask matrix`: every experiment at quick scale, on each built-in kind of database, on this machine,
//! on emulated ones over it, and in a guest with four nodes and siblings. What each ended in is held
//! against what it must, and written to docs/MATRIX.md.
//!
//! Limits: guests run by emulation of every instruction: their figures mean nothing and are left out, their
//! verdicts and proofs are shown. PostgreSQL is not in the guest; `cargo xtask test` has it there.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use hopcost_kit::experiments::EXPERIMENTS;
use serde_json::Value;

use crate::project;
use crate::test::build_hopcost;
use crate::vm::{Kernel, Topology, Vm};

const TARGETS: [&str; 2] = ["sqlite", "postgres:managed"];
/// Tried in turn where the machine has nothing to compare: distance in hopcost's own SQLite, sets of CPUs
/// alone in a server, threads of one core.
const EMULATED: [&str; 4] =
    ["nodes=2,remote_ns=80", "nodes=2", "nodes=1,siblings=1.2", "nodes=1,siblings=2"];
/// In the guest, of data sets that are not counted in warehouses.
const ROWS: u32 = 20_000;
const BUDGET: &str = "--budget=40s";

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
    /// From what a run printed.
    fn read(printed: &[u8], said: &[u8]) -> Self {
        let Ok(result) = serde_json::from_slice::<Value>(printed) else {
            let said = String::from_utf8_lossy(said);
            let words = said.lines().next().unwrap_or_default().trim_start_matches("hopcost: ");
            return Self { verdict: "not run".to_owned(), words: words.to_owned() };
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
        !["NOT_APPLICABLE", "not run"].contains(&self.verdict.as_str())
    }

    fn told(&self) -> String {
        format!("{} {}", self.verdict.replace('_', " "), self.words.replace('|', "/"))
    }
}

/// All of it: 0 where each ended as it must.
pub fn run() -> Result<u8> {
    let hopcost = build_hopcost()?;
    let mut out = String::from(HEAD);
    let mut wrong = Vec::new();
    for (name, file) in EXPERIMENTS {
        for target in targets(file) {
            let here = on_this_machine(&hopcost, (name, file), target, None)?;
            let is_as_expected = !here.applies() || expected(name).contains(&here.verdict.as_str());
            if !is_as_expected {
                wrong.push(format!("{name} on {target}: {}", here.told()));
            }
            let emulated =
                if here.applies() { None } else { emulated(&hopcost, (name, file), target)? };
            let emulated = emulated.as_ref().map_or("–".to_owned(), Cell::told);
            println!("{name} | {target} | {} | {emulated}", here.told());
            let _ = writeln!(out, "| {name} | {target} | {} | {emulated} |", here.told());
        }
    }
    out.push_str(GUEST);
    for (name, cell) in in_a_guest(&hopcost)? {
        println!("{name} | guest | {}", cell.told());
        // A refusal counts only where its cause was there, and nobody was in the guest's way.
        if cell.verdict == "not run" || cell.verdict == "REFUSED" {
            wrong.push(format!("{name} in the guest: {}", cell.told()));
        }
        let told = if cell.verdict == "NOT_APPLICABLE" { cell.told() } else { cell.verdict };
        let _ = writeln!(out, "| {name} | {told} |");
    }
    fs::write(project().join("docs/MATRIX.md"), out)?;
    for wrong in &wrong {
        println!("NOT AS IT MUST: {wrong}");
    }
    Ok(u8::from(!wrong.is_empty()))
}

const HEAD: &str = "# Every experiment, and what it ended in

Written by `cargo xtask matrix`, which runs all of them at quick scale with a budget of 40 seconds each, \
at 4 streams, or at 1, 2 and 4 where a law is looked for. The \
machine: a guest with two CPUs, one memory node and no siblings. What does not apply there is tried on an \
emulated machine over it, which checks the method and says nothing of any machine. Figures are costs, a share \
of throughput, with their intervals, or what was measured.

| experiment | target | this machine | emulated |
|---|---|---|---|
";
const GUEST: &str = "
In a guest with four memory nodes on two sockets and two threads a core, whose processors are emulated \
instruction by instruction (QEMU): there figures mean nothing, and verdicts show that the experiment was \
placed, proved and judged. Built-in databases alone; the probes run there in the tests.

| experiment | guest |
|---|---|
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
fn targets(file: &str) -> Vec<&'static str> {
    if file.contains("probes = ") {
        vec!["hardware"]
    } else if file.contains("target = \"postgres\"") {
        vec!["postgres:managed"]
    } else if file.contains("target = ") {
        vec!["its own"]
    } else {
        TARGETS.to_vec()
    }
}

fn on_this_machine(
    hopcost: &Path,
    (name, file): (&str, &str),
    target: &str,
    emulated: Option<&str>,
) -> Result<Cell> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new(hopcost);
    command.args(["run", name, "--quick", "--json", "--store"]).arg(dir.path().join("store.db"));
    if target != "hardware" {
        command.arg(BUDGET).args(streams(file).split_whitespace());
    }
    if TARGETS.contains(&target) {
        command.args(["--target", target]);
    }
    command.args(emulated.iter().flat_map(|how| ["--emulate", how]));
    let output = command.output().with_context(|| format!("{command:?}"))?;
    Ok(Cell::read(&output.stdout, &output.stderr))
}

/// The first emulated machine to which it applies.
fn emulated(hopcost: &Path, of: (&str, &str), target: &str) -> Result<Option<Cell>> {
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

/// All of them in one guest, with as little data as tells anything.
fn in_a_guest(hopcost: &Path) -> Result<Vec<(&'static str, Cell)>> {
    let built_in: Vec<(&str, &str)> = EXPERIMENTS
        .iter()
        .copied()
        .filter(|(_, file)| !file.contains("target = \"postgres\"") && !file.contains("probes = "))
        .collect();
    let mut script = String::from("export XDG_CACHE_HOME=/cache\n");
    for (name, file) in &built_in {
        let rows = if file.contains("\"tpcc\"") { 1 } else { ROWS };
        let streams = streams(file);
        let _ = writeln!(
            script,
            "hopcost run {name} --quick --json --store /cache/{name}.db --scale {rows} \
             {streams} --set units=8 --set window=0.6s --set guard=50ms \
             > /out/{name}.json 2> /out/{name}.err
             rm -f /cache/{name}.db"
        );
    }
    let topology: Topology = "n4s2".parse().map_err(anyhow::Error::msg)?;
    let mut guest = Vm::new(topology, Kernel::V6_1).mib_per_node(1200).seconds(3600);
    let cache = generated(hopcost)?;
    for file in fs::read_dir(cache.path().join("hopcost"))? {
        let file = file?;
        guest = guest.with(&file.path(), &format!("/cache/hopcost/{}", file.file_name().display()));
    }
    let outcome = guest.with(hopcost, "/usr/local/bin/hopcost").run(&script)?;
    let cell = |name: &str| -> Result<Cell> {
        let [json, said] = ["json", "err"].map(|end| outcome.read(&format!("{name}.{end}")));
        Ok(Cell::read(json?.as_bytes(), said?.as_bytes()))
    };
    built_in.iter().map(|(name, _)| Ok((*name, cell(name)?))).collect()
}
