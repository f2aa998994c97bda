//! `cargo lab validate --live`: hopcost against a real database, hundreds of times.
//!
//! Method: the binary runs as a user runs it. *Placebo*: short A/A checks; how often is a
//! difference reported? *Planted*: an emulated delay of 0 to 10%; each interval must contain the
//! real delay. *Power*: 3% at ordinary length; when does the interval finally exclude zero?
//! *Repeat*: do quick runs agree? The other parts are in `compare.rs`,
//! `planted.rs` and `slowdown.rs`. Limits: it needs an otherwise idle machine, and up to an hour.

use anyhow::{Result, bail};
use clap::ValueEnum;
use tempfile::TempDir;

use xtask::cargo::build_hopcost;

use super::ended::{Ended, ns_for, ran};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Nothing planted, nothing different: 200 short runs
    Placebo,
    /// 0, 1, 3, 5 and 10% planted: 40 short runs each
    Planted,
    /// 3% planted: 10 runs at the ordinary pace
    Power,
    /// The experiments of a survey that end in a verdict anywhere: 10 quick runs each
    Repeat,
    /// Pairs of emulated machines, alike and with less bandwidth on one node of one: 20 and 5
    Compare,
    /// A second thread of a core that adds a quarter: 40 short runs
    Siblings,
    /// Streams that are in each other's way, by a law with a peak: 40 short runs
    Usl,
    /// 30% less bandwidth on one of two nodes: 40 quick runs
    Bandwidth,
    /// One of two PostgreSQL servers held back by a control group: 10 short runs; takes root
    Slowdown,
}

const PLACEBO_RUNS: u64 = 200;
/// Exceeded in one test of a hundred if intervals miss in 5% of cases.
const MOST_FALSE_VERDICTS: usize = 18;
const PLANTED_RUNS: u64 = 40;
const LEAST_COVERED: usize = 35;
const PLANTED_SHARES: [f64; 5] = [0.0, 0.01, 0.03, 0.05, 0.10];
const MOST_WITHOUT_CAUSE: usize = 5;
const POWER_RUNS: u64 = 10;
const REPEATED: [&str; 4] = ["server-score", "context-switches", "log-distance", "bounded-max"];
const REPEAT_RUNS: u64 = 10;
const LEAST_AGREEING: usize = 9;
const MOST_MEDIAN_SECONDS: f64 = 240.0;

/// 8 units of blocks with windows of 60 ms, on a table that loads quickly.
const SHORT: [&str; 7] = [
    "--quick",
    "--scale=200000",
    "--set=units=8",
    "--set=window=60ms",
    "--set=guard=15ms",
    "--set=streams=1",
    "--json",
];

pub fn run(part: Part) -> Result<u8> {
    let bench = Bench { hopcost: build_hopcost()?, dir: tempfile::tempdir()? };
    let held = match part {
        Part::Placebo => bench.placebo()?,
        Part::Planted => bench.planted()?,
        Part::Power => bench.power()?,
        Part::Repeat => bench.repeat()?,
        Part::Compare => super::compare::run(&bench.hopcost, bench.dir.path())?,
        Part::Siblings => super::planted::siblings(&bench.hopcost, bench.dir.path())?,
        Part::Usl => super::planted::usl(&bench.hopcost, bench.dir.path())?,
        Part::Bandwidth => super::planted::bandwidth(&bench.hopcost, bench.dir.path())?,
        Part::Slowdown => super::slowdown::run(&bench.hopcost, bench.dir.path())?,
    };
    Ok(u8::from(!held))
}

struct Bench {
    hopcost: std::path::PathBuf,
    dir: TempDir,
}

impl Bench {
    fn placebo(&self) -> Result<bool> {
        println!("placebo: {PLACEBO_RUNS} short runs of two equal arms");
        let runs = self.runs(PLACEBO_RUNS, "placebo", &SHORT, None)?;
        let wrong = runs.iter().filter(|run| run.is_effect()).count();
        tell_verdicts(&runs);
        println!("  points of {PLACEBO_RUNS} estimates: {}", histogram(&runs));
        println!("  {wrong} false verdicts, {MOST_FALSE_VERDICTS} at most");
        Ok(wrong <= MOST_FALSE_VERDICTS)
    }

    fn planted(&self) -> Result<bool> {
        let per_ns = self.planted_per_ns()?;
        let mut held = true;
        println!("planted: {PLANTED_RUNS} short runs each; {:.4}% per ns", 100.0 * per_ns);
        for share in PLANTED_SHARES {
            let ns = ns_for(share, per_ns);
            let runs = self.runs(PLANTED_RUNS, "remote-memory", &SHORT, Some(ns))?;
            let covered = runs.iter().filter(|run| run.covers_truth()).count();
            let effects = runs.iter().filter(|run| run.is_effect()).count();
            let mean = |of: fn(&Ended) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            println!(
                "  {:4.1}% asked: {:.2}% planted, {:.2}% found on average; covered in {covered} of \
                 {PLANTED_RUNS} ({LEAST_COVERED} needed); COST or GAIN in {effects}",
                100.0 * share,
                100.0 * mean(|run| run.planted).abs(),
                100.0 * mean(|run| run.estimate.map_or(f64::NAN, |[point, _, _]| point)),
            );
            tell_verdicts(&runs);
            held &= covered >= LEAST_COVERED;
            held &= share > 0.0 || effects <= MOST_WITHOUT_CAUSE;
        }
        Ok(held)
    }

    fn power(&self) -> Result<bool> {
        let per_ns = self.planted_per_ns()?;
        let ns = ns_for(0.03, per_ns);
        println!("power: {POWER_RUNS} runs of ordinary length, 3 % planted");
        // Each run goes on until its interval is half as wide as the effect: by then it is seen or
        // missed.
        let full = ["--set=streams=1", "--set=half_width=1.5%", "--json"];
        let mut seconds = Vec::new();
        for seed in 1..=POWER_RUNS {
            let run = self.hopcost("remote-memory", seed, &full, Some(ns))?;
            let seen_s = run.seen_after_s.filter(|_| run.verdict == "COST");
            let seen = seen_s.map_or("never".to_owned(), |s| format!("after {s:.0} s"));
            println!("  seed {seed}: seen {seen}, {} after {:.0} s", run.verdict, run.seconds);
            if run.verdict == "REFUSED" {
                println!("    {}", run.reason);
            }
            seconds.push(seen_s.unwrap_or(f64::INFINITY));
        }
        seconds.sort_by(f64::total_cmp);
        let median = f64::midpoint(seconds[4], seconds[5]);
        println!("  median {median:.0} s until it is seen, {MOST_MEDIAN_SECONDS} s at most");
        Ok(median <= MOST_MEDIAN_SECONDS)
    }

    /// Quick runs agree if their intervals overlap that of the median run.
    fn repeat(&self) -> Result<bool> {
        println!("repeat: {REPEAT_RUNS} quick runs each");
        let mut held = true;
        for experiment in REPEATED {
            let runs = self.runs(REPEAT_RUNS, experiment, &["--quick", "--json"], None)?;
            let mut estimates: Vec<[f64; 3]> = runs.iter().filter_map(|run| run.estimate).collect();
            estimates.sort_by(|[a, ..], [b, ..]| a.total_cmp(b));
            let Some([point, low, high]) = estimates.get(estimates.len() / 2) else {
                bail!("{experiment}: no run came to an estimate");
            };
            let overlaps = |[_, l, h]: &&[f64; 3]| l <= high && low <= h;
            let agreeing = estimates.iter().filter(overlaps).count();
            println!(
                "  {experiment}: median {point:.4} ({low:.4} … {high:.4}); {agreeing} of \
                 {REPEAT_RUNS} overlap it ({LEAST_AGREEING} needed)"
            );
            tell_verdicts(&runs);
            held &= agreeing >= LEAST_AGREEING;
        }
        Ok(held)
    }

    fn planted_per_ns(&self) -> Result<f64> {
        const NS: f64 = 200.0;
        self.hopcost("remote-memory", 999, &SHORT, Some(NS))?.planted_per_ns(NS)
    }

    fn runs(
        &self,
        count: u64,
        experiment: &str,
        arguments: &[&str],
        remote_ns: Option<f64>,
    ) -> Result<Vec<Ended>> {
        (1..=count).map(|seed| self.hopcost(experiment, seed, arguments, remote_ns)).collect()
    }

    fn hopcost(
        &self,
        experiment: &str,
        seed: u64,
        arguments: &[&str],
        remote_ns: Option<f64>,
    ) -> Result<Ended> {
        let seed = seed.to_string();
        let arguments = [&[experiment, "--seed", &seed], arguments].concat();
        let emulated = remote_ns.map(|ns| format!("nodes=2,remote_ns={ns:.3}"));
        Ended::read(&ran(&self.hopcost, self.dir.path(), &arguments, emulated.as_deref())?)
    }
}

fn tell_verdicts(runs: &[Ended]) {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for run in runs {
        *counts.entry(&run.verdict).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
    println!("    {}", counts.join(", "));
    for run in runs.iter().filter(|run| run.verdict == "REFUSED") {
        println!("    refused: {}", run.reason);
    }
}

fn histogram(runs: &[Ended]) -> String {
    let mut classes = std::collections::BTreeMap::<i64, usize>::new();
    for [point, _, _] in runs.iter().filter_map(|run| run.estimate) {
        *classes.entry((point * 200.0).round() as i64).or_default() += 1;
    }
    let class = |(class, n): (&i64, &usize)| format!("{:+.1}%: {n}", *class as f64 / 2.0);
    classes.iter().map(class).collect::<Vec<_>>().join(", ")
}
