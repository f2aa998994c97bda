//! Repeats the tests: do they always pass, and how often was a measurement repeated?

use std::process::Stdio;

use anyhow::{Context, Result};
use xtask::cargo::cargo;

use super::rounds::Rounds;

pub fn run(name: &'static str, arguments: &[&str], count: usize) -> Result<u8> {
    let mut rounds = Rounds::of(name)?;
    for round in rounds.done.len() + 1..=count {
        let mut test = cargo();
        test.args(["xtask", "test"]).args(arguments).stdout(Stdio::piped());
        let output = test.spawn().and_then(std::process::Child::wait_with_output);
        let said = output.context("cargo xtask test")?.stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        let line = |words: &str| said.lines().find(|line| line.contains(words)).unwrap_or("none");
        let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("FAILED: ")).collect();
        let failed = if failed.is_empty() { "–".to_owned() } else { failed.join(" ") };
        let (took, tests) = (line(" of it building; "), line("tests: "));
        rounds.push(format!("{round} | {tests} | {took} | {failed}"))?;
    }
    let is_green = |line: &&String| line.contains(" passed, 0 failed |");
    let green = rounds.done.iter().filter(is_green).count();
    let summary = format!("{green} of {count} runs passed.");
    rounds.conclude(&summary, "round | tests | took | what failed")?;
    Ok(u8::from(green < count))
}
