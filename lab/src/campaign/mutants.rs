//! Mutants: small changes to the code that a test should find. cargo-mutants makes them, from PATH.
//!
//! Method: twenty are drawn by a seed from all that it lists of six parts of the code. Each is put into a second work
//! tree, where the binaries that hold these parts' claims are tried. One that no test can find, as it changes nothing
//! that anybody could see, is named by hand in the document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::Value;
use xtask::cargo::cargo;
use xtask::{command, project, target};

use super::Rounds;

const SEED: u64 = 1;
const COUNT: usize = 20;
const FOUND_AT_LEAST: usize = 19;
const PARTS: [&str; 6] = [
    "crates/engine/src/**",
    "crates/stats/src/**",
    "crates/store/src/**",
    "crates/sys/src/**",
    "crates/kit/src/targets/sqlite/**",
    "crates/kit/src/targets/postgres/**",
];
/// Where their claims are held, the quickest first.
const BINARIES: [&str; 12] = [
    "hopcost-stats/lib",
    "hopcost-store/lib",
    "hopcost-sys/lib",
    "hopcost-sys/machines",
    "hopcost-engine/lib",
    "hopcost-engine/pure",
    "hopcost-engine/driver",
    "hopcost-kit/lib",
    "hopcost-kit/targets",
    "hopcost/servers",
    "hopcost/alone",
    "xtask/guests",
];

/// Tries those that are left.
pub fn run() -> Result<u8> {
    ensure!(command::exists("cargo-mutants"), "cargo install cargo-mutants");
    let mut rounds = Rounds::of("mutants")?;
    let mutants = drawn()?;
    let tree = tree(&rounds.commit)?;
    for mutant in mutants.iter().skip(rounds.done.len()) {
        let name = mutant["name"].as_str().context("a mutant without a name")?;
        let finder = tried(&tree, mutant["diff"].as_str().context("a mutant without a diff")?)?;
        rounds.push(format!(
            "`{}` | {}",
            name.replace('|', "\\|"),
            finder.unwrap_or("**nothing**".into())
        ))?;
    }
    let found = rounds.done.iter().filter(|line| !line.ends_with("**nothing**")).count();
    let summary = format!("{found} of {COUNT} mutants were found, drawn by seed {SEED}.");
    rounds.conclude(&summary, "mutant | found by")?;
    Ok(u8::from(found < FOUND_AT_LEAST))
}

fn drawn() -> Result<Vec<Value>> {
    let mut list = cargo();
    list.args(["mutants", "--list", "--json", "--diff"]);
    list.args(PARTS.iter().flat_map(|part| ["--file", part]));
    let listed = command::output(&mut list)?;
    let all: Vec<Value> = serde_json::from_str(&listed).context("what cargo mutants lists")?;
    println!("lab: mutants: {COUNT} of {}", all.len());
    Ok(Rng::with_seed(SEED).choose_multiple(all, COUNT))
}

/// A second work tree, with a target directory of its own.
fn tree(commit: &str) -> Result<PathBuf> {
    let tree = target().join("validate/tree");
    if !tree.is_dir() {
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet"]).arg(project()).arg(&tree);
        command::run(&mut clone)?;
    }
    let git =
        |arguments: &[&str]| command::run(Command::new("git").args(arguments).current_dir(&tree));
    git(&["fetch", "--quiet"])?;
    git(&["checkout", "--quiet", "--force", commit])?;
    Ok(tree)
}

/// What finds it, if anything does.
fn tried(tree: &Path, diff: &str) -> Result<Option<String>> {
    let patch = tree.join("target/mutant.diff");
    fs::create_dir_all(tree.join("target"))?;
    fs::write(&patch, diff)?;
    let git = |arguments: &[&str]| {
        command::run(Command::new("git").args(arguments).arg(&patch).current_dir(tree))
    };
    git(&["apply", "--unidiff-zero"])?;
    let mut test = cargo();
    test.args(["xtask", "test"]).args(BINARIES).current_dir(tree).env_remove("CARGO_TARGET_DIR");
    let output = test.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    git(&["apply", "--unidiff-zero", "--reverse"])?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("FAILED: ")?.split(" (").next()).collect();
    let finder = if failed.is_empty() { "the compiler".to_owned() } else { failed.join(", ") };
    Ok(Some(finder))
}
