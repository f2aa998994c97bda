//! The probes beside multichase (latency), likwid-bench (bandwidth), core-to-core-latency (cores).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use hopcost_core::{CpuId, CpuSet};
use hopcost_stats::spread;
use hopcost_sys::affinity;
use serde_json::Value;

use super::table::{Goal, Table};
use xtask::cargo::build_hopcost;
use xtask::command;

/// One line of every 256 bytes: 512 MiB of lines are walked.
const GIB: usize = 2;
const MIB: usize = GIB << 10;
const STRIDE: &str = "256";

pub fn run(rounds: usize) -> Result<u8> {
    let hopcost = build_hopcost()?;
    let cpus = affinity::mask()?;
    let mut table = Table::begin();
    latency(&mut table, &hopcost, &cpus, rounds)?;
    // Bandwidths of both tools vary more from run to run than latencies.
    bandwidth(&mut table, &hopcost, &cpus, 2 * rounds)?;
    cores(&mut table, &hopcost, &cpus, rounds)?;
    Ok(table.end())
}

fn probe(hopcost: &Path, arguments: &[&str]) -> Result<Value> {
    let mut command = Command::new(hopcost);
    command.arg("probe").args(arguments).arg("--json");
    Ok(serde_json::from_str(&command::output(&mut command)?)?)
}

fn figure(report: &Value, series: &str) -> Result<f64> {
    let cells = report["probes"][0]["cells"].as_array().context("no cells")?;
    let cell = cells.iter().find(|cell| cell["series"] == series);
    let cell = cell.with_context(|| format!("no series '{series}'"))?;
    let point = cell["outcome"]["measured"]["estimate"]["point"].as_f64();
    point.with_context(|| format!("'{series}' has no figure: {}", cell["outcome"]))
}

fn latency(table: &mut Table, hopcost: &Path, cpus: &CpuSet, rounds: usize) -> Result<()> {
    const PEER: &str = "multichase";
    let cpu = cpus.last().unwrap_or(CpuId(0)).to_string();
    let (all, page) = (format!("{MIB}m"), "4096".to_owned());
    for (pages, flag) in [("4k", None), ("transparent", Some("-H"))] {
        let orders = [("random", &all), ("page by page", &page)];
        let what = |order| format!("latency, {order}, {GIB} GiB, {pages} pages, ns");
        if !command::exists(PEER) {
            for (order, _) in &orders {
                table.missing(&what(order), PEER);
            }
            continue;
        }
        let mut figures = [const { Vec::new() }; 2];
        for _ in 0..rounds {
            let size = format!("{MIB}M");
            let arguments = ["latency", "--size", &size, "--pages", pages, "--cpus", &cpu];
            let report = probe(hopcost, &arguments)?;
            for ((order, locality), figures) in orders.iter().zip(&mut figures) {
                let mut peer = Command::new("taskset");
                peer.args(["-c", &cpu, PEER, "-a", "-n", "8", "-m", &all, "-T", locality]);
                peer.args(["-s", STRIDE]).args(flag);
                let theirs: f64 = command::output(&mut peer)?.trim().parse()?;
                figures.push((figure(&report, &format!("{order}, {GIB}.0 GiB"))?, theirs));
            }
        }
        for ((order, _), figures) in orders.iter().zip(&figures) {
            table.row(&what(order), figures, Goal::Within(0.05));
        }
    }
    Ok(())
}

/// Buffers of the same size on base pages, which the peer uses, on the same CPUs: the peer's one
/// thread runs on the first.
fn bandwidth(table: &mut Table, hopcost: &Path, cpus: &CpuSet, rounds: usize) -> Result<()> {
    const PEER: &str = "likwid-bench";
    let suffix = ["avx512f", "avx2"].into_iter().find(|flag| has_flag(flag));
    let suffix = match suffix {
        Some("avx512f") => "_avx512",
        Some(_) => "_avx",
        None => "_sse",
    };
    let kernels = [
        ("read", "load"),
        ("store", "store"),
        ("store non-temporal", "store_mem"),
        ("copy", "copy"),
    ];
    let first: CpuSet = cpus.iter().take(1).collect();
    for (crowd, cpus) in [("one thread", &first), ("a thread per core", cpus)] {
        if crowd != "one thread" && cpus.len() < 2 {
            continue;
        }
        let what = |kernel: &str, test: &str| {
            format!("bandwidth, {kernel} ({test}{suffix}), {crowd}, GB/s")
        };
        if !command::exists(PEER) {
            for (kernel, test) in kernels {
                table.missing(&what(kernel, test), PEER);
            }
            continue;
        }
        let (list, size) = (cpus.to_string(), format!("{}M", 1024 / cpus.len()));
        let arguments = ["bandwidth", "--quick", "--size", &size, "--pages", "4k", "--cpus", &list];
        let workgroup = format!("N:1073MB:{}", cpus.len());
        let mut figures = [const { Vec::new() }; 4];
        for _ in 0..rounds {
            let report = probe(hopcost, &arguments)?;
            for ((kernel, test), figures) in kernels.iter().zip(&mut figures) {
                let ours = figure(&report, &format!("{kernel}, {crowd}"))?;
                let mut peer = Command::new(PEER);
                peer.args(["-t", &format!("{test}{suffix}"), "-W", &workgroup]);
                let printed = command::output(&mut peer)?;
                let rate = printed.lines().find_map(|line| line.strip_prefix("MByte/s:"));
                let theirs: f64 = rate.context("likwid-bench gives no MByte/s")?.trim().parse()?;
                figures.push((ours, theirs / 1000.0));
            }
        }
        for ((kernel, test), figures) in kernels.iter().zip(&figures) {
            table.row(&what(kernel, test), figures, Goal::Above(0.95));
        }
    }
    Ok(())
}

/// The peer's one line is in its heap, so each run has a fresh line.
fn cores(table: &mut Table, hopcost: &Path, cpus: &CpuSet, rounds: usize) -> Result<()> {
    const PEER: &str = "core-to-core-latency";
    const LINES_PER_ROUND: usize = 6;
    let what = "cores, compare-and-swap, ns";
    let mut pair = cpus.iter();
    let (Some(a), Some(b)) = (pair.next(), pair.next()) else {
        println!("{what:<62} not here: one CPU has no pair");
        return Ok(());
    };
    if !command::exists(PEER) {
        table.missing(what, PEER);
        return Ok(());
    }
    let pair = format!("{a},{b}");
    let (mut figures, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let report = probe(hopcost, &["cores", "--quick", "--cpus", &pair])?;
        let cells = report["probes"][0]["cells"].as_array().context("no cells")?;
        ours.extend(cells.iter().map(|cell| cell["outcome"]["measured"].clone()));
        let mut lines = Vec::new();
        for _ in 0..LINES_PER_ROUND {
            let mut peer = Command::new(PEER);
            peer.args(["500", "100", "-b", "1", "-c", &pair, "--csv"]);
            let printed = command::output(&mut peer)?;
            let number = |word: &str| word.trim().parse::<f64>().ok().filter(|ns| *ns > 0.0);
            lines.push(printed.split([',', '\n']).find_map(number).context("no figure")?);
        }
        let median = spread(&lines).context("no lines")?.median;
        figures.push((figure(&report, "compare-and-swap, home on the row's node")?, median));
        theirs.extend(lines);
    }
    table.row(what, &figures, Goal::Within(0.10));
    if let Some(s) = spread(&theirs) {
        println!(
            "    peer's {} fresh lines: p5 {:.1}, median {:.1}, p95 {:.1}",
            theirs.len(),
            s.p5,
            s.median,
            s.p95
        );
    }
    for cell in ours.iter().take(3) {
        let (spread, n) = (&cell["spread"], &cell["estimate"]["n"]);
        println!(
            "    hopcost's {n} fresh lines: p5 {}, median {}, p95 {}",
            short(&spread["p5"]),
            short(&spread["median"]),
            short(&spread["p95"])
        );
    }
    Ok(())
}

fn short(number: &Value) -> String {
    number.as_f64().map_or_else(|| "–".into(), |n| format!("{n:.1}"))
}

fn has_flag(flag: &str) -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpuinfo
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|f| f == flag))
}
