//! Commands whose CPU time is taken, and the optimised lab that takes it.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use hopcost_core::CpuId;
use serde_json::Value;

use xtask::cargo::cargo;

/// The same comparison by a lab that is optimised, where this one is not: how it ended.
pub fn in_release(what: &str, rounds: usize) -> Result<Option<u8>> {
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
pub struct Cost {
    pub cpu_us: f64,
    pub per_s: f64,
}

/// `hopcost drive`, on one thread of a CPU.
pub fn driven(command: &mut Command, clients: u32, at: CpuId, seconds: u32) -> Result<Cost> {
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
pub fn timed(command: &Command, at: CpuId) -> Result<(String, f64)> {
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
