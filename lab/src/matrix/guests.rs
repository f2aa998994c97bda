//! Built-in databases in emulated machines with several nodes: verdicts alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use hopcost_core::Verdict;
use hopcost_view::verdict_in_words;
use serde_json::Value;
use xtask::project;
use xtask::vm::{Kernel, Topology, Vm};

use super::cells::{Named, streams};

/// Tried in turn: four nodes on two sockets; two cores under each last-level cache.
const TOPOLOGIES: [&str; 2] = ["n4s2", "n2c2"];
const A_GUEST: usize = 5;
const GUEST_SECONDS: u64 = 1800;
const ROWS: u32 = 20_000;
/// A table in memory must have several huge pages per node.
const ROWS_IN_MEMORY: u32 = 120_000;

/// Returns how many ended as they must not. Each one's line of the page is replaced.
pub fn run(hopcost: &Path, experiments: &[Named]) -> Result<usize> {
    if experiments.is_empty() {
        return Ok(0);
    }
    let cache = generated(hopcost)?;
    let mut are_wrong = 0;
    for some in experiments.chunks(A_GUEST) {
        let mut left = some.to_vec();
        for topology in TOPOLOGIES {
            let ended = in_a_guest(hopcost, cache.path(), topology, &left)?;
            let mut not_there = Vec::new();
            for (named @ (name, _), verdict) in left.into_iter().zip(ended) {
                write_line(name, topology, verdict)?;
                are_wrong += usize::from(verdict == Verdict::Refused);
                not_there.extend((verdict == Verdict::NotApplicable).then_some(named));
            }
            left = not_there;
            if left.is_empty() {
                break;
            }
        }
    }
    Ok(are_wrong)
}

fn write_line(name: &str, topology: &str, verdict: Verdict) -> Result<()> {
    let path = project().join("docs/reference/matrix.md");
    let text = fs::read_to_string(&path)?;
    let verdict = verdict_in_words(verdict, false);
    println!("{name} in {topology}: {verdict}");
    let first = format!("| {name} | guest |");
    let renewed = |line: &str| {
        if line.starts_with(&first) {
            format!("{first} {topology} | {verdict} |\n")
        } else {
            format!("{line}\n")
        }
    };
    Ok(fs::write(&path, text.lines().map(renewed).collect::<String>())?)
}

/// Data made on this machine, because a guest would take minutes.
fn generated(hopcost: &Path) -> Result<tempfile::TempDir> {
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

fn in_a_guest(
    hopcost: &Path,
    cache: &Path,
    topology: &str,
    experiments: &[Named],
) -> Result<Vec<Verdict>> {
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
    let verdict = |name: &str| -> Result<Verdict> {
        let printed = outcome.read(&format!("{name}.json"))?;
        let result: Value = serde_json::from_str(&printed)
            .with_context(|| outcome.read(&format!("{name}.err")).unwrap_or_default())?;
        Ok(serde_json::from_value(result["verdict"].clone())?)
    };
    experiments.iter().map(|(name, _)| verdict(name)).collect()
}
