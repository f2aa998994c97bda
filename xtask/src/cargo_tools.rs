//! Cargo's tools that are not part of it: built once, by `cargo install`.

use std::path::PathBuf;

use anyhow::Result;

use crate::cargo::cargo;
use crate::command;
use crate::kept::kept;

/// Checks our dependencies.
pub fn cargo_deny() -> Result<PathBuf> {
    ensure("cargo-deny", "0.20.2")
}

pub fn ensure(name: &str, version: &str) -> Result<PathBuf> {
    kept(&format!("{name}/{version}"), name, |work| {
        println!("xtask: building {name} {version}");
        let mut install = cargo();
        // Unoptimized, it builds in a third of the time and runs in a second.
        install.args(["install", "--quiet", "--locked", "--debug", "--version", version]);
        install.env("CARGO_PROFILE_DEV_DEBUG", "false").arg("--root").arg(work);
        command::output(install.arg("--target-dir").arg(work.join("build")).arg(name))?;
        Ok(work.join("bin").join(name))
    })
}
