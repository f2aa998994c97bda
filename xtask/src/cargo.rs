//! Calls to cargo: builds, and the paths of binaries.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, anyhow};

use crate::{command, project, target};

/// The cargo that runs us, without the variables it sets for its child.
///
/// Some build scripts (ring's) rerun if one of these changes, which would rebuild their dependents
/// at every switch between `cargo build` and `cargo xtask`.
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
    if std::env::var_os("CI").is_some() {
        // CI builds once, so incremental data is useless.
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

pub fn build_hopcost() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, &["--release", "--package", "hopcost"], "release/hopcost")
}

/// The binary under test: the one that `cargo xtask test` names, else the one that `cargo test`
/// built.
pub fn tested_hopcost() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match std::env::var_os("HOPCOST_TEST_BINARY") {
        Some(path) => Ok(path.into()),
        None => once(&BUILT, &["--package", "hopcost"], "debug/hopcost"),
    }
}

/// An example of `hopcost-sys` that disturbs runs; `cargo test` builds it.
pub fn build_saboteur(name: &str) -> Result<PathBuf> {
    let path = target().join("debug/examples").join(name);
    if !path.is_file() {
        build(&["--package", "hopcost-sys", "--example", name])?;
    }
    Ok(path)
}

fn once(
    built: &OnceLock<Result<PathBuf, String>>,
    what: &[&str],
    program: &str,
) -> Result<PathBuf> {
    let path = || build(what).map(|()| target().join(program));
    let path = built.get_or_init(|| path().map_err(|error| format!("{error:#}")));
    path.clone().map_err(|error| anyhow!(error))
}

fn build(what: &[&str]) -> Result<()> {
    println!("xtask: building: cargo build {}", what.join(" "));
    command::run(cargo().args(["build", "--quiet"]).args(what))
}
