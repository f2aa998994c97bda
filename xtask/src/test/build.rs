//! Builds all test binaries, and lists their paths and tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command;

use super::cargo;

#[derive(Debug)]
pub struct Built {
    pub package: String,
    /// `lib` and `bin` are a package's unit tests.
    pub target: String,
    pub program: PathBuf,
    pub directory: PathBuf,
    pub tests: Vec<String>,
}

/// Names a file with the paths of all binaries, for tests that rerun other binaries on other
/// servers.
const PROGRAMS: &str = "HOPCOST_TEST_PROGRAMS";

pub fn written(binaries: &[Built], file: PathBuf) -> Result<(&'static str, PathBuf)> {
    fs::write(&file, binaries.iter().map(line).collect::<String>())?;
    Ok((PROGRAMS, file))
}

fn line(built: &Built) -> String {
    let Built { package, target, program, directory, .. } = built;
    format!("{package}/{target}\t{}\t{}\n", program.display(), directory.display())
}

/// A command for a test binary such as `hopcost-engines/targets`, built if necessary.
pub fn program(name: &str) -> Result<Command> {
    let all = match std::env::var_os(PROGRAMS) {
        Some(file) => fs::read_to_string(file)?,
        None => tests()?.iter().map(line).collect(),
    };
    let mut lines = all.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let found = lines.find(|line| line.first() == Some(&name));
    let [_, program, directory] = found.unwrap_or_default()[..] else {
        bail!("there is no test binary {name}");
    };
    let mut command = Command::new(program);
    command.current_dir(directory);
    Ok(command)
}

pub fn tests() -> Result<Vec<Built>> {
    println!("xtask: building: cargo test --workspace --no-run");
    let mut build = cargo();
    build.args(["test", "--workspace", "--no-run", "--quiet"]);
    build.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let output = build.spawn().and_then(std::process::Child::wait_with_output).context("cargo")?;
    ensure!(output.status.success(), "the tests do not build");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built: Vec<Built> = artifacts.filter_map(|artifact| read(&artifact)).collect();
    ensure!(!built.is_empty(), "cargo has built no tests");
    built.into_iter().map(with_its_tests).collect()
}

fn read(artifact: &Value) -> Option<Built> {
    if artifact["reason"] != "compiler-artifact" || artifact["profile"]["test"] != true {
        return None;
    }
    let program = PathBuf::from(artifact["executable"].as_str()?);
    let kind = artifact["target"]["kind"][0].as_str()?;
    let name = artifact["target"]["name"].as_str()?;
    let target = if kind == "test" { name } else { kind };
    let directory = Path::new(artifact["manifest_path"].as_str()?).parent()?.to_owned();
    let package = package_of(artifact["package_id"].as_str()?)?.to_owned();
    Some(Built { package, target: target.to_owned(), program, directory, tests: Vec::new() })
}

/// Of `path+file:///there/crates/cli#hopcost@0.1.0`, or of `path+file:///there/xtask#0.0.0`.
fn package_of(id: &str) -> Option<&str> {
    let (path, rest) = id.split_once('#')?;
    match rest.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

fn with_its_tests(built: Built) -> Result<Built> {
    let list = command::output(
        Command::new(&built.program)
            .args(["--list", "--format", "terse"])
            .current_dir(&built.directory),
    )?;
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(Built { tests: tests.map(str::to_owned).collect(), ..built })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_by_its_id() {
        assert_eq!(package_of("path+file:///a/crates/cli#hopcost@0.1.0"), Some("hopcost"));
        assert_eq!(package_of("path+file:///a/xtask#0.0.0"), Some("xtask"));
    }
}
