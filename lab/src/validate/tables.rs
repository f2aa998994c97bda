//! The tables of docs/METHODOLOGY.md, written anew from simulation.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use fastrand::Rng;

use super::rivals::RIVALS;
use super::{
    BLOCK_SECONDS, BUDGET_SECONDS, NOISY, Noise, QUIET, share, simulate_many,
    takes_nothing_for_something, trace,
};
use xtask::project;

const BEGIN: &str = "<!-- written by cargo lab validate: begin -->\n";
const END: &str = "<!-- written by cargo lab validate: end -->";
const PLANTED: f64 = 0.03;

/// Simulates `runs` comparisons of each kind and writes the tables.
pub fn run(runs: usize) -> Result<u8> {
    let recorded = trace::read()?;
    let mut text = String::new();
    promises(&mut text, &Noise::all(recorded.clone()), runs);
    power(&mut text, &recorded, runs / 5);
    histogram(&mut text, runs);
    usual_ways(&mut text, runs / 5);
    println!("{text}");
    let path = project().join("docs/METHODOLOGY.md");
    let document = std::fs::read_to_string(&path).context("docs/METHODOLOGY.md")?;
    let (head, rest) = document.split_once(BEGIN).context("its first mark is missing")?;
    let (_, tail) = rest.split_once(END).context("its last mark is missing")?;
    std::fs::write(&path, format!("{head}{BEGIN}{text}{END}{tail}"))?;
    Ok(0)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn promises(text: &mut String, noises: &[Noise], runs: usize) {
    let _ = writeln!(
        text,
        "**Coverage and false verdicts**, {runs} simulated comparisons each, with a cost of 3 % and \
         with none:\n\n\
         | noise | covers 3 % at the stop | at all looks at once | COST or GAIN where nothing is | \
         refused | blocks, median |\n|---|---:|---:|---:|---:|---:|"
    );
    for noise in noises {
        let planted = simulate_many(noise, PLANTED, runs);
        let empty = simulate_many(noise, 0.0, runs);
        let mut blocks: Vec<usize> = planted.iter().map(|outcome| outcome.blocks).collect();
        blocks.sort_unstable();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            noise.name(),
            percent(share(&planted, |outcome| outcome.covered)),
            percent(share(&planted, |outcome| outcome.covered_always)),
            percent(share(&empty, takes_nothing_for_something)),
            percent(share(&planted, |outcome| outcome.verdict.is_none())),
            blocks[blocks.len() / 2],
        );
    }
}

/// How soon an effect of some size shows.
fn power(text: &mut String, recorded: &[f64], runs: usize) {
    const MINUTES: [f64; 4] = [1.5, 2.0, 4.0, 8.0];
    let _ = writeln!(
        text,
        "\n**Power**: the share of {runs} comparisons whose interval excludes zero within so many \
         minutes:\n\n| noise | cost | 1.5 min | 2 min | 4 min | 8 min |\n|---|---:|---:|---:|---:|---:|"
    );
    for noise in [Noise::Weather(QUIET), Noise::Weather(NOISY), Noise::Recorded(recorded.to_vec())]
    {
        for cost in [0.005, 0.01, 0.02, 0.03, 0.05] {
            let outcomes = simulate_many(&noise, cost, runs);
            let within = |minutes: f64| {
                let blocks = (minutes * 60.0 / BLOCK_SECONDS) as usize;
                percent(share(&outcomes, |o| o.seen_after.is_some_and(|after| after <= blocks)))
            };
            let shares = MINUTES.map(within).join(" | ");
            let _ = writeln!(text, "| {} | {} | {shares} |", noise.name(), percent(cost));
        }
    }
}

/// What an A/A comparison estimates.
fn histogram(text: &mut String, runs: usize) {
    const STEP: f64 = 0.0025;
    let outcomes = simulate_many(&Noise::Weather(NOISY), 0.0, runs);
    let estimates: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.cost).collect();
    let _ = writeln!(
        text,
        "\n**A against A** on the noisy machine, {runs} comparisons: what was estimated where the \
         truth is zero\n\n```"
    );
    let bins = -6..6;
    let in_bin = |bin: i32| {
        let low = f64::from(bin) * STEP;
        estimates.iter().filter(|cost| (low..low + STEP).contains(*cost)).count()
    };
    let most = bins.clone().map(in_bin).max().unwrap_or(1).max(1);
    for bin in bins {
        let count = in_bin(bin);
        let low = 100.0 * f64::from(bin) * STEP;
        let bar = "█".repeat((count * 50).div_ceil(most));
        let _ = writeln!(text, "{low:+5.2} … {:+5.2} %  {bar} {count}", low + 100.0 * STEP);
    }
    let _ = writeln!(text, "```");
}

fn usual_ways(text: &mut String, runs: usize) {
    let _ = writeln!(
        text,
        "\n**The usual way**: how often the same machines, with nothing to find, give p < 0.05 ({runs} \
         comparisons; this method's {:.0} minutes beside)\n\n| method | noisy | quiet |\n|---|---:|---:|",
        BUDGET_SECONDS / 60.0
    );
    for (name, p) in RIVALS {
        let errs = |weather| {
            let wrong =
                (0..runs).filter(|&run| p(&weather, &mut Rng::with_seed(run as u64)) < 0.05);
            percent(wrong.count() as f64 / runs as f64)
        };
        let _ = writeln!(text, "| {name} | {} | {} |", errs(NOISY), errs(QUIET));
    }
    let ours = |weather| {
        percent(share(
            &simulate_many(&Noise::Weather(weather), 0.0, runs),
            takes_nothing_for_something,
        ))
    };
    let _ = writeln!(text, "| blocks A B B A, as here | {} | {} |", ours(NOISY), ours(QUIET));
}
