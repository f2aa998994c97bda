//! CPU time of client tools, taken by an optimized build of the lab.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use hopcost_core::CpuId;
use hopcost_sys::affinity;
use serde_json::Value;

use xtask::cargo::cargo;
use xtask::command;

use super::table::{Goal, Table};

/// `None` if this build is optimized; else the exit code of the optimized one.
pub fn in_release(what: &str, rounds: usize) -> Result<Option<u8>> {
    if !cfg!(debug_assertions) {
        return Ok(None);
    }
    let mut release = cargo();
    release.args(["run", "--quiet", "--release", "--package", "lab", "--"]);
    release.args(["bench", what, "--rounds", &rounds.to_string()]);
    Ok(Some(u8::from(!release.status()?.success())))
}

#[derive(Clone, Copy)]
pub struct Cost {
    pub cpu_us: f64,
    pub per_s: f64,
}

pub fn driven(command: &mut Command, Case { clients, at, .. }: Case, seconds: u32) -> Result<Cost> {
    command.args(["--threads", "1", "--json", "--client-cpus", &at.to_string()]);
    command.args(["--clients", &clients.to_string(), "--duration", &format!("{seconds}s")]);
    let (out, cpu_s) = timed(command, at)?;
    let result: Value = serde_json::from_str(&out)?;
    let number = |key: &str| result[key].as_f64().with_context(|| format!("no '{key}'"));
    ensure!(number("errors")? == 0.0, "{out}");
    let calls = number("calls")? + number("warm_up_calls")?;
    Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: number("calls_per_s")? })
}

pub fn timed(command: &Command, at: CpuId) -> Result<(String, f64)> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "taskset -c $0 \"$@\"; code=$?; times >&2; exit $code", &at.to_string()]);
    shell.arg(command.get_program()).args(command.get_args());
    let output = shell.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", command.get_program().display());
    // The last line is for the children: user and system time.
    let line = errors.lines().last().context("bash tells no times")?;
    let seconds = line.split_whitespace().map(|word| -> Result<f64> {
        let (minutes, seconds) =
            word.trim_end_matches('s').split_once('m').context("no minutes")?;
        Ok(minutes.parse::<f64>()? * 60.0 + seconds.parse::<f64>()?)
    });
    Ok((String::from_utf8(output.stdout)?, seconds.sum::<Result<f64>>()?))
}

pub fn number_after(out: &str, words: &str) -> Result<f64> {
    let rest = out.split(words).nth(1).with_context(|| format!("no '{words}' in {out}"))?;
    let word = rest.split_whitespace().next().context("nothing follows")?;
    Ok(word.trim_end_matches('s').parse()?)
}

pub fn two_cpus() -> Result<[CpuId; 2]> {
    let cpus = affinity::mask()?;
    match (cpus.first(), cpus.last()) {
        (Some(home), Some(away)) if home != away => Ok([home, away]),
        _ => bail!("two CPUs are needed: one for the server, and another"),
    }
}

pub fn load(hopcost: &Path, url: &str) -> Result<()> {
    let mut load = Command::new(hopcost);
    load.args(["load", url, "tpcc", "--scale", "1"]).stdout(Stdio::null());
    command::run(&mut load)
}

/// Goals are ratios of hopcost's CPU time and rate to the peer's.
#[derive(Clone, Copy)]
pub struct Case {
    pub clients: u32,
    pub at: CpuId,
    pub cpu: Goal,
    pub rate: Goal,
}

/// Two rows. The tools take turns, each as often first.
pub fn compare(
    table: &mut Table,
    what: &str,
    case: Case,
    rounds: usize,
    [ours, theirs]: [&dyn Fn(Case) -> Result<Cost>; 2],
) -> Result<()> {
    let round = |round: usize| -> Result<[Cost; 2]> {
        if round.is_multiple_of(2) {
            let ours = ours(case)?;
            Ok([ours, theirs(case)?])
        } else {
            let theirs = theirs(case)?;
            Ok([ours(case)?, theirs])
        }
    };
    let each = (0..rounds).map(round).collect::<Result<Vec<_>>>()?;
    let of = |figure: fn(&Cost) -> f64| -> Vec<(f64, f64)> {
        each.iter().map(|[ours, theirs]| (figure(ours), figure(theirs))).collect()
    };
    let what = format!("{what}, {} clients", case.clients);
    table.row(&format!("{what}: CPU per request, µs"), &of(|cost| cost.cpu_us), case.cpu);
    table.row(&format!("{what}: requests per ms"), &of(|cost| cost.per_s / 1000.0), case.rate);
    Ok(())
}
