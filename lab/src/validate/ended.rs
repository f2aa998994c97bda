//! One hopcost run as a user starts it, and its output.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub struct Ended {
    pub verdict: String,
    pub reason: String,
    /// Point, low, high.
    pub estimate: Option<[f64; 3]>,
    pub planted: f64,
    pub seconds: f64,
    pub seen_after_s: Option<f64>,
}

impl Ended {
    pub fn read(json: &[u8]) -> Result<Self> {
        let result: Value = serde_json::from_slice(json)?;
        Ok(Self {
            verdict: result["verdict"].as_str().unwrap_or_default().to_owned(),
            reason: result["reason"].as_str().unwrap_or_default().to_owned(),
            estimate: figures(&result["estimate"]),
            planted: result["planted"].as_f64().unwrap_or(0.0),
            seconds: result["seconds"].as_f64().unwrap_or(f64::INFINITY),
            seen_after_s: seen_after_s(&result["details"]["points"]),
        })
    }

    /// Of the work's time that was planted by each nanosecond of distance.
    pub fn planted_per_ns(&self, ns: f64) -> Result<f64> {
        if self.planted <= 0.0 {
            bail!("nothing was planted: {} {}", self.verdict, self.reason);
        }
        Ok(self.planted / (1.0 - self.planted) / ns)
    }

    pub fn is_effect(&self) -> bool {
        ["COST", "GAIN"].contains(&self.verdict.as_str())
    }

    pub fn covers_truth(&self) -> bool {
        self.estimate.is_some_and(|[_, low, high]| low <= self.planted && self.planted <= high)
    }
}

/// From then to the last look the interval of the reported point was above zero.
fn seen_after_s(points: &Value) -> Option<f64> {
    let reported = points.as_array()?.iter().find(|point| point["exploratory"] == false)?;
    let looks = reported["looks"].as_array()?;
    let excludes = |look: &&Value| look["cost"]["low"].as_f64().is_some_and(|low| low > 0.0);
    looks.iter().rev().take_while(excludes).last()?["after_s"].as_f64()
}

/// A share s of the total time is s / (1 − s) of the work's time.
pub fn ns_for(share: f64, per_ns: f64) -> f64 {
    share / (1.0 - share) / per_ns
}

/// Point, low, high.
pub fn figures(estimate: &Value) -> Option<[f64; 3]> {
    let figure = |key: &str| estimate[key].as_f64();
    Some([figure("point")?, figure("low")?, figure("high")?])
}

pub fn ran(
    hopcost: &Path,
    dir: &Path,
    arguments: &[&str],
    emulated: Option<&str>,
) -> Result<Vec<u8>> {
    let store = dir.join("validation.db");
    let mut command = Command::new(hopcost);
    command.arg("run").args(arguments).arg("--store").arg(&store).stderr(Stdio::inherit());
    command.args(emulated.iter().flat_map(|how| ["--emulate", how]));
    let output = command.output().context("hopcost")?;
    // A refusal exits with 1 and is an ordinary outcome.
    if !matches!(output.status.code(), Some(0 | 1)) || output.stdout.is_empty() {
        bail!("{command:?}: {}", output.status);
    }
    fs::remove_file(&store).with_context(|| store.display().to_string())?;
    Ok(output.stdout)
}
