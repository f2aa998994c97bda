//! cargo-deny, which checks our dependencies.

use std::path::PathBuf;

use anyhow::Result;

use crate::cargo::cargo;
use crate::command;
use crate::kept::kept;

const VERSION: &str = "0.20.2";

pub fn ensure() -> Result<PathBuf> {
    kept(&format!("cargo-deny/{VERSION}"), "cargo-deny", |work| {
        println!("xtask: building cargo-deny {VERSION}");
        let mut install = cargo();
        // Unoptimized, it builds in a third of the time and runs in a second.
        install.args(["install", "--quiet", "--locked", "--debug", "--version", VERSION]);
        install.env("CARGO_PROFILE_DEV_DEBUG", "false").arg("--root").arg(work);
        command::output(install.arg("--target-dir").arg(work.join("build")).arg("cargo-deny"))?;
        Ok(work.join("bin/cargo-deny"))
    })
}
