//! `--live siblings`, `usl` and `bandwidth`: are injected effects found in each run?
//!
//! Method: *siblings*: two CPUs emulate threads of one core with a gain of 1.25. Each run reports
//! the delay it injected; interleaved runs with a gain of 2 give the real gain of two CPUs. *Usl*:
//! up to 16 clients follow a law with a peak near 7; σ, κ and the peak must be in their intervals.
//! *Bandwidth*: one of two emulated nodes gives 0.7 of its bytes; both are the same memory, so the
//! other one is the truth.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::compare::{BYTES, LESS_OF_ONE};
use super::ended::{Ended, figures, ran};

const RUNS: u64 = 40;
const LEAST_COVERED: usize = 35;
const RUNS_MADE_AGAIN: u64 = 4;

const SHORT: [&str; 7] = [
    "--json",
    "--quick",
    "--scale=1",
    "--set=units=8",
    "--set=window=60ms",
    "--set=guard=15ms",
    "--set=streams=2",
];
const TOGETHER: &str = "nodes=1,siblings=1.25";
const APART: &str = "nodes=1,siblings=2";
/// On a hypervisor the gain of two CPUs changes within minutes, so it is taken from this many
/// control runs before and after.
const NEAR: usize = 3;

pub fn siblings(hopcost: &Path, dir: &Path) -> Result<bool> {
    println!(
        "siblings: {RUNS} short runs of smt-oltp with {TOGETHER}, each followed by one without"
    );
    let run = |seed: u64, planted: &str| -> Result<Ended> {
        let seed = seed.to_string();
        let arguments = [&["smt-oltp", "--seed", &seed][..], &SHORT].concat();
        Ended::read(&ran(hopcost, dir, &arguments, Some(planted))?)
    };
    let (mut planted, mut apart) = (Vec::new(), Vec::new());
    for seed in 1..=RUNS {
        planted.push(undisturbed(|again| run(seed + again, TOGETHER))?);
        apart.push(undisturbed(|again| run(1000 + seed + again, APART))?);
    }
    // The injected delay assumes a real gain of 2.
    for (n, run) in planted.iter_mut().enumerate() {
        let near = n.saturating_sub(NEAR)..(n + NEAR).min(apart.len());
        run.planted = 1.0 - (1.0 - run.planted) * two_beside_one(&apart[near]) / 2.0;
    }
    let covered = planted.iter().filter(|run| run.covers_truth()).count();
    for Ended { planted, estimate, verdict, reason, .. } in &planted {
        let planted = 100.0 * planted;
        match estimate.map(|figures| figures.map(|figure| 100.0 * figure)) {
            Some([cost, low, high]) => {
                println!("    planted {planted:+.1}%, found {cost:+.1}% ({low:+.1} … {high:+.1})");
            }
            None => println!("    planted {planted:+.1}%, found nothing: {verdict} {reason}"),
        }
    }
    planted.retain(|run| run.estimate.is_some());
    let mean = |of: fn(&Ended) -> f64| planted.iter().map(of).sum::<f64>() / planted.len() as f64;
    println!(
        "  two CPUs do {:.3} times as much as one; planted {:+.1}%, found {:+.1}% on average; held in \
         {covered} of {RUNS} ({LEAST_COVERED} needed)",
        two_beside_one(&apart),
        100.0 * mean(|run| run.planted),
        100.0 * mean(|run| run.estimate.map_or(f64::NAN, |[cost, ..]| cost)),
    );
    Ok(covered >= LEAST_COVERED)
}

/// A run on a disturbed machine is no evidence about the method, so it is repeated a few times.
fn undisturbed(run: impl Fn(u64) -> Result<Ended>) -> Result<Ended> {
    for again in 0..RUNS_MADE_AGAIN {
        let ended = run(again * RUNS)?;
        if ended.estimate.is_some() {
            return Ok(ended);
        }
    }
    run(RUNS_MADE_AGAIN * RUNS)
}

fn two_beside_one(apart: &[Ended]) -> f64 {
    let done = |run: &Ended| run.estimate.map(|[cost, ..]| (1.0 - cost).ln());
    let logs: Vec<f64> = apart.iter().filter_map(done).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

const LAW: &str = r#"question = "By which law does throughput grow?"

[subject]
dataset = "tpcc"
scale = { quick = 1, full = 1 }
workload = "standard_oltp"

[factor.machine]
whole = { data = "node:A" }

[sweep]
streams = [1, 2, 3, 4, 6, 8, 12, 16]

[measure]
response = "calls_per_second"
find = "scaling"
"#;
const CROWDED: &str = "nodes=1,usl=0.05:0.02";
/// σ, κ, and the number of clients at the peak: √((1 − σ) / κ).
const PLANTED: [(&str, f64); 3] = [("sigma", 0.05), ("kappa", 0.02), ("peak", 6.892)];
const OF_THE_LAW: [&str; 5] =
    ["--json", "--quick", "--set=units=8", "--set=window=100ms", "--set=guard=15ms"];

pub fn usl(hopcost: &Path, dir: &Path) -> Result<bool> {
    println!("usl: {RUNS} short runs with {CROWDED}");
    let experiment = dir.join("law.toml");
    std::fs::write(&experiment, LAW)?;
    let experiment = experiment.display().to_string();
    let (mut covered, mut sums) = ([0; 3], [0.0; 3]);
    for seed in 1..=RUNS {
        let seed = seed.to_string();
        let arguments = [&[experiment.as_str(), "--seed", &seed][..], &OF_THE_LAW].concat();
        let result: Value = serde_json::from_slice(&ran(hopcost, dir, &arguments, Some(CROWDED))?)?;
        let law = &result["details"]["scaling"][0]["law"];
        for (n, (name, planted)) in PLANTED.iter().enumerate() {
            let Some([point, low, high]) = figures(&law[*name]) else {
                println!("    run {seed}: no {name}: {} {}", law[*name], result["reason"]);
                continue;
            };
            covered[n] += usize::from((low..=high).contains(planted));
            sums[n] += point / RUNS as f64;
        }
    }
    for (n, (name, planted)) in PLANTED.iter().enumerate() {
        println!(
            "  {name}: {planted} planted, {:.4} found on average; held in {} of {RUNS} ({LEAST_COVERED} \
             needed)",
            sums[n], covered[n]
        );
    }
    Ok(covered.iter().all(|covered| *covered >= LEAST_COVERED))
}

pub fn bandwidth(hopcost: &Path, dir: &Path) -> Result<bool> {
    println!("bandwidth: {RUNS} quick runs with {LESS_OF_ONE}");
    let experiment = dir.join("bytes.toml");
    std::fs::write(&experiment, BYTES)?;
    let experiment = experiment.display().to_string();
    let (mut covered, mut points) = (0, Vec::new());
    for seed in 1..=RUNS {
        let seed = seed.to_string();
        let json = ran(
            hopcost,
            dir,
            &[&experiment, "--json", "--quick", "--seed", &seed],
            Some(LESS_OF_ONE),
        )?;
        let result: Value = serde_json::from_slice(&json)?;
        let cells = result["probes"][0]["cells"].as_array().context("no cells")?;
        let (Some(left), Some([point, low, high])) = (left(cells), ratio(cells)) else {
            println!("    run {seed}: a cell is missing");
            continue;
        };
        covered += usize::from(low <= left && left <= high);
        points.push((left, point));
    }
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    println!(
        "  {:.3} left, as counted, {:.3} found on average; held in {covered} of {RUNS} ({LEAST_COVERED} \
         needed)",
        mean(|(left, _)| *left),
        mean(|(_, found)| *found),
    );
    Ok(covered >= LEAST_COVERED)
}

fn cell(cells: &[Value], node: u32) -> Option<&Value> {
    cells.iter().find(|cell| cell["row"]["node"] == 0 && cell["column"]["node"] == node)
}

/// The share of the second node's bandwidth that was really left.
fn left(cells: &[Value]) -> Option<f64> {
    let counted = &cell(cells, 1)?["counters"];
    Some(1.0 - counted["planted_ns"].as_f64()? / counted["window_ns"].as_f64()?)
}

/// Node 1's bandwidth from node 0's CPUs, as a share of node 0's.
fn ratio(cells: &[Value]) -> Option<[f64; 3]> {
    let of = |node| figures(&cell(cells, node)?["outcome"]["measured"]["estimate"]);
    let ([p0, l0, h0], [p1, l1, h1]) = (of(0)?, of(1)?);
    Some([p1 / p0, l1 / h0, h1 / l0])
}
