//! `cargo lab bench`: hopcost side by side with the tools that measure the same.
//!
//! Every claim is a ratio: in each round both tools run within seconds of each other on the same
//! CPUs, and the median over rounds of the rounds' ratios is reported with its interval. Peers are
//! found on the PATH; where one is missing its rows say so.

mod driver;
mod mariadb;
mod postgres;
mod probes;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use hopcost_core::{CpuId, Estimate};
use hopcost_stats::paired_ratio;
use serde_json::Value;

use xtask::cargo::cargo;

/// What can be compared.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// The hardware probes: with multichase, likwid-bench and core-to-core-latency
    Probes,
    /// The databases' driver: page images with plain SQLite, loading with SQLite's own shell
    Driver,
    /// PostgreSQL: its driver with pgbench, loading with psql
    Postgres,
    /// MariaDB: its driver with sysbench
    Mariadb,
}

/// Runs the comparison and prints its table; 1 where a goal was missed.
pub fn run(what: What, rounds: usize) -> Result<u8> {
    match what {
        What::Probes => probes::run(rounds),
        What::Driver => driver::run(rounds),
        What::Postgres => postgres::run(rounds),
        What::Mariadb => mariadb::run(rounds),
    }
}

/// What a ratio of hopcost's figure over the peer's has to be.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Its interval lies above this.
    Above(f64),
    /// Its interval lies below this.
    Below(f64),
    /// Its point lies within this share of 1.
    Within(f64),
    /// None: it is reported.
    Reported,
}

impl Goal {
    fn is_met(self, ratio: &Estimate) -> bool {
        match self {
            Self::Above(least) => ratio.low > least,
            Self::Below(most) => ratio.high < most,
            Self::Within(share) => (ratio.point - 1.0).abs() <= share,
            Self::Reported => true,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Above(least) => format!("interval above {least}"),
            Self::Below(most) => format!("interval below {most}"),
            Self::Within(share) => format!("within {:.0} %", share * 100.0),
            Self::Reported => "reported".to_owned(),
        }
    }
}

/// The table, printed line by line, and how many of its goals were missed.
#[derive(Default)]
struct Table {
    unmet: usize,
}

impl Table {
    fn begin() -> Self {
        println!("{:<62} {:>9} {:>9}  {:<25} goal", "", "hopcost", "peer", "ratio, 95 % interval");
        Self::default()
    }

    /// One line: the rounds' figures as (hopcost's, the peer's).
    fn row(&mut self, what: &str, rounds: &[(f64, f64)], goal: Goal) {
        let Some(ratio) = paired_ratio(rounds, 0.95) else {
            println!("{what:<62} no rounds");
            self.unmet += 1;
            return;
        };
        let median = |of: fn(&(f64, f64)) -> f64| {
            let figures: Vec<f64> = rounds.iter().map(of).collect();
            hopcost_stats::spread(&figures).map_or(f64::NAN, |spread| spread.median)
        };
        let is_met = goal.is_met(&ratio);
        self.unmet += usize::from(!is_met);
        println!(
            "{what:<62} {:>9.2} {:>9.2}  {:.3} ({:.3} … {:.3}){:>4}  {}: {}",
            median(|round| round.0),
            median(|round| round.1),
            ratio.point,
            ratio.low,
            ratio.high,
            "",
            goal.words(),
            if is_met { "met" } else { "NOT MET" },
        );
    }

    fn missing(&mut self, what: &str, peer: &str) {
        println!("{what:<62} missing, because {peer} is not on the PATH: goal unmet");
        self.unmet += 1;
    }

    /// The exit code.
    fn end(&self) -> u8 {
        u8::from(self.unmet > 0)
    }
}

/// The same comparison by a lab that is optimised, where this one is not: how it ended.
fn in_release(what: &str, rounds: usize) -> Result<Option<u8>> {
    if !cfg!(debug_assertions) {
        return Ok(None);
    }
    let mut release = cargo();
    release.args(["run", "--quiet", "--release", "--package", "lab", "--"]);
    release.args(["bench", what, "--rounds", &rounds.to_string()]);
    Ok(Some(u8::from(!release.status()?.success())))
}

/// What a request costs the client, and how many there were.
#[derive(Clone, Copy)]
struct Cost {
    cpu_us: f64,
    per_s: f64,
}

/// `hopcost drive`, on one thread of a CPU.
fn driven(command: &mut Command, clients: u32, at: CpuId, seconds: u32) -> Result<Cost> {
    command.args(["--threads", "1", "--json", "--client-cpus", &at.to_string()]);
    command.args(["--clients", &clients.to_string(), "--duration", &format!("{seconds}s")]);
    let (out, cpu_s) = timed(command, at)?;
    let result: Value = serde_json::from_str(&out)?;
    let number = |key: &str| result[key].as_f64().with_context(|| format!("no '{key}'"));
    ensure!(number("errors")? == 0.0, "{out}");
    let calls = number("calls")? + number("warm_up_calls")?;
    Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: number("calls_per_s")? })
}

/// Runs a command on a CPU: what it printed, and the CPU time that it took.
fn timed(command: &Command, at: CpuId) -> Result<(String, f64)> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "taskset -c $0 \"$@\"; code=$?; times >&2; exit $code", &at.to_string()]);
    shell.arg(command.get_program()).args(command.get_args());
    let output = shell.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", command.get_program().display());
    // The last line is of the children: user's and system's.
    let line = errors.lines().last().context("bash tells no times")?;
    let seconds = line.split_whitespace().map(|word| -> Result<f64> {
        let (minutes, seconds) =
            word.trim_end_matches('s').split_once('m').context("no minutes")?;
        Ok(minutes.parse::<f64>()? * 60.0 + seconds.parse::<f64>()?)
    });
    Ok((String::from_utf8(output.stdout)?, seconds.sum::<Result<f64>>()?))
}
