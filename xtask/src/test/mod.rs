//! `cargo xtask test`: everything that must hold, in one command.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{command, prerequisites, project, target, tidy};

/// Formatting, lints, the rules of the house, and all tests, the emulated machines included.
pub fn run() -> Result<u8> {
    prerequisites::ensure()?;
    step("formatting", &["fmt", "--all", "--check"])?;
    step("lints", &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    println!("xtask: rules of the house");
    let untidy = tidy::run()?;
    if untidy != 0 {
        return Ok(untidy);
    }
    build_hopcost()?;
    step("tests", &["test", "--workspace", "--no-fail-fast"])?;
    Ok(0)
}

/// The release binary, built if need be: the one that the emulated machines run.
pub fn build_hopcost() -> Result<PathBuf> {
    step("building", &["build", "--release", "--quiet", "--package", "hopcost"])?;
    Ok(target().join("release/hopcost"))
}

/// A saboteur for tests, from the examples of `hopcost-sys`.
pub fn build_saboteur(name: &str) -> Result<PathBuf> {
    let example = ["--package", "hopcost-sys", "--example", name];
    step("building", &[&["build", "--release", "--quiet"][..], &example].concat())?;
    Ok(target().join("release/examples").join(name))
}

fn step(what: &str, arguments: &[&str]) -> Result<()> {
    println!("xtask: {what}: cargo {}", arguments.join(" "));
    command::run(cargo().args(arguments))
}

/// The same cargo that runs us, without what it sets for the program that it runs.
///
/// A build script that asks to be run again if one of these changes (ring's does) would be run again, and all that
/// depends on it built again, each time that a developer goes from `cargo build` to `cargo xtask` and back.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(project());
    for (name, _) in std::env::vars_os() {
        let set_by_cargo = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start))
        });
        if set_by_cargo || name == "OUT_DIR" {
            cargo.env_remove(name);
        }
    }
    cargo
}
