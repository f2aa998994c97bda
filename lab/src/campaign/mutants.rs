//! Mutants: do the tests find small changes to the code? cargo-mutants makes them.
//!
//! Method: a seed draws twenty from six parts of the code. In a separate work tree each is tried
//! with its package's unit tests, then with all binaries that cover these parts. Equivalent mutants
//! are listed by hand in the document. If only tests were added since an earlier commit, the same
//! mutants are drawn, and those found before stay found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::Value;
use xtask::cargo::cargo;
use xtask::{command, project, target};

use super::rounds::Rounds;

const SEED: u64 = 1;
const COUNT: usize = 20;
const FOUND_AT_LEAST: usize = 19;
const UNVIABLE: &str = "does not compile";
const NOTHING: &str = "**nothing**";
const PARTS: [&str; 7] = [
    "crates/drive/src/**",
    "crates/method/src/**",
    "crates/stats/src/**",
    "crates/store/src/**",
    "crates/sys/src/**",
    "crates/engines/src/sqlite/**",
    "crates/engines/src/postgres/**",
];
/// They cover the mutated parts.
const BINARIES: [&str; 13] = [
    "hopcost-stats/lib",
    "hopcost-store/lib",
    "hopcost-sys/lib",
    "hopcost-sys/machines",
    "hopcost-method/lib",
    "hopcost-method/pure",
    "hopcost-drive/lib",
    "hopcost-drive/pool",
    "hopcost-engines/lib",
    "hopcost-engines/targets",
    "hopcost/servers",
    "hopcost/alone",
    "xtask/guests",
];
/// An endless loop counts as found.
const MOST_SECONDS: &str = "900";

pub fn run() -> Result<u8> {
    ensure!(command::exists("cargo-mutants"), "cargo install cargo-mutants");
    let mut rounds = Rounds::of("mutants")?;
    let mutants = drawn()?;
    let tree = tree(&rounds.commit)?;
    let (earlier, before) = rounds.before().unwrap_or_default();
    for mutant in mutants.iter().skip(rounds.done.len()) {
        if viable(&rounds.done).count() == COUNT {
            break;
        }
        let name = mutant["name"].as_str().context("a mutant without a name")?;
        let begin = format!("`{}` | ", name.replace('|', "\\|"));
        let found = before.iter().find(|line| line.starts_with(&begin) && !line.ends_with(NOTHING));
        rounds.push(match found {
            Some(line) if line.ends_with(UNVIABLE) || line.ends_with(')') => line.clone(),
            Some(line) => format!("{line} (at {earlier})"),
            None => format!("{begin}{}", tried(&tree, mutant)?.unwrap_or(NOTHING.to_owned())),
        })?;
    }
    let found = viable(&rounds.done).filter(|line| !line.ends_with(NOTHING)).count();
    let summary = format!("{found} of {COUNT} mutants were found, drawn by seed {SEED}.");
    rounds.conclude(&summary, "mutant | found by")?;
    Ok(u8::from(found < FOUND_AT_LEAST))
}

/// A mutant that does not compile is replaced by another.
fn viable(lines: &[String]) -> impl Iterator<Item = &String> {
    lines.iter().filter(|line| !line.ends_with(UNVIABLE))
}

fn drawn() -> Result<Vec<Value>> {
    let mut list = cargo();
    list.args(["mutants", "--list", "--json", "--diff"]);
    list.args(PARTS.iter().flat_map(|part| ["--file", part]));
    let listed = command::output(&mut list)?;
    let all: Vec<Value> = serde_json::from_str(&listed).context("what cargo mutants lists")?;
    println!("lab: mutants: {COUNT} of {}", all.len());
    Ok(Rng::with_seed(SEED).choose_multiple(all, 2 * COUNT))
}

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

fn tried(tree: &Path, mutant: &Value) -> Result<Option<String>> {
    let text = |key: &str| mutant[key].as_str().with_context(|| format!("a mutant without {key}"));
    let patch = tree.join("target/mutant.diff");
    fs::create_dir_all(tree.join("target"))?;
    fs::write(&patch, patch_of(text("file")?, text("diff")?)?)?;
    let git = |arguments: &[&str]| {
        command::run(Command::new("git").args(arguments).arg(&patch).current_dir(tree))
    };
    git(&["apply", "--unidiff-zero"])?;
    let own = ["test", "--package", text("package")?, "--lib", "--", "--skip", "measured"];
    let all = [&["xtask", "test"], &BINARIES[..]].concat();
    let finder = match failure(tree, &own)? {
        None => failure(tree, &all)?,
        found => found,
    };
    git(&["apply", "--unidiff-zero", "--reverse"])?;
    Ok(finder)
}

/// A diff for `git apply`: cargo-mutants writes a description in place of the file name.
fn patch_of(file: &str, diff: &str) -> Result<String> {
    let hunks = diff.find("@@ ").context("a mutant that changes nothing")?;
    Ok(format!("--- a/{file}\n+++ b/{file}\n{}", &diff[hunks..]))
}

fn failure(tree: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let plain = cargo();
    let mut test = Command::new("timeout");
    test.args(["--kill-after=10", MOST_SECONDS]).arg(plain.get_program()).args(arguments);
    test.current_dir(tree).env_remove("CARGO_TARGET_DIR");
    for (name, _) in plain.get_envs().filter(|(_, value)| value.is_none()) {
        test.env_remove(name);
    }
    let output = test.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    if output.status.success() {
        return Ok(None);
    }
    if let Some(124 | 137) = output.status.code() {
        return Ok(Some("the limit of time".to_owned()));
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = |line: &str| {
        let of_binary = line.strip_prefix("FAILED: ").and_then(|rest| rest.split(" (").next());
        let of_test = || line.strip_prefix("test ")?.strip_suffix(" ... FAILED");
        of_binary.or_else(of_test).map(str::to_owned)
    };
    let failed: Vec<String> = said.lines().filter_map(failed).collect();
    let broken = String::from_utf8_lossy(&output.stderr).contains("error: could not compile");
    ensure!(broken || !failed.is_empty(), "neither a compiler's error nor a failed test: {said}");
    Ok(Some(if broken { UNVIABLE.to_owned() } else { failed.join(", ") }))
}
