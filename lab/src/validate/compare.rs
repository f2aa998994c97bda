//! `cargo lab validate --live compare`: does `hopcost compare` find real differences only?
//!
//! Method: pairs of bandwidth probe runs on an emulated machine of two nodes, each in its own
//! store. Equal pairs must hardly ever differ. In the others one node of the second machine has 30
//! % less bandwidth, and must be named. Limits: both machines are this one, minutes apart.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub const BYTES: &str = r#"question = "How many bytes does each node give?"

[subject]
probes = ["bandwidth"]
"#;

const PAIRS_ALIKE: u64 = 20;
const MOST_CALLED_DIFFERENT: usize = 2;
const PAIRS_PLANTED: u64 = 5;
const LEAST_NAMED: usize = 5;
const ALIKE: &str = "nodes=2";
pub const LESS_OF_ONE: &str = "nodes=2,bandwidth=node1:0.7";
const NAMED: &str = "bandwidth of node 1 is ";

pub fn run(hopcost: &Path, dir: &Path) -> Result<bool> {
    let experiment = dir.join("streams.toml");
    std::fs::write(&experiment, BYTES)?;
    let bench = Bench { hopcost, dir, experiment };
    println!("compare: {PAIRS_ALIKE} pairs alike, {PAIRS_PLANTED} with 30 % less on one node");
    let different = bench.pairs(PAIRS_ALIKE, ALIKE, |compared| {
        let cells = compared["cells"].as_array().into_iter().flatten();
        cells.into_iter().any(|cell| cell["likeness"] == "DIFFERENT")
    })?;
    println!("  {different} called different that are alike, {MOST_CALLED_DIFFERENT} at most");
    let named = bench.pairs(PAIRS_PLANTED, LESS_OF_ONE, |compared| {
        let first = compared["explained_by"][0].as_str().unwrap_or_default();
        first.starts_with(NAMED) && first.contains("lower on B")
    })?;
    println!("  the node named in {named} of {PAIRS_PLANTED} ({LEAST_NAMED} needed)");
    Ok(different <= MOST_CALLED_DIFFERENT && named >= LEAST_NAMED)
}

struct Bench<'a> {
    hopcost: &'a Path,
    dir: &'a Path,
    experiment: PathBuf,
}

impl Bench<'_> {
    fn pairs(&self, pairs: u64, second: &str, is_said: impl Fn(&Value) -> bool) -> Result<usize> {
        let mut said = 0;
        for pair in 0..pairs {
            let a = self.measured("a.db", 2 * pair + 1, ALIKE)?;
            let b = self.measured("b.db", 2 * pair + 2, second)?;
            let compared = self.compared(&a, &b)?;
            let is_it = is_said(&compared);
            said += usize::from(is_it);
            let cells = compared["cells"].as_array().map_or(0, Vec::len);
            let found = compared["found"].as_str().unwrap_or_default();
            println!("    pair {}: {cells} figures; {found}", pair + 1);
        }
        Ok(said)
    }

    fn measured(&self, name: &str, seed: u64, emulated: &str) -> Result<PathBuf> {
        let store = self.dir.join(name);
        if store.exists() {
            std::fs::remove_file(&store)?;
        }
        let mut command = Command::new(self.hopcost);
        command.arg("run").arg(&self.experiment).args(["--quick", "--emulate", emulated]);
        command.args(["--seed", &seed.to_string()]).arg("--store").arg(&store);
        let status = command.stdout(Stdio::null()).status().context("hopcost run")?;
        if !status.success() {
            bail!("hopcost run --emulate {emulated}: {status}; does others' work leave anything?");
        }
        Ok(store)
    }

    fn compared(&self, a: &Path, b: &Path) -> Result<Value> {
        let mut command = Command::new(self.hopcost);
        let output = command.arg("compare").args([a, b]).arg("--json").output()?;
        if !output.status.success() {
            bail!("hopcost compare: {}; a quieter machine is needed", output.status);
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
