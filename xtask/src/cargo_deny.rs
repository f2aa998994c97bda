//! cargo-deny, which checks what we depend on: built once, about a minute, and kept below cargo's target directory.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::Result;

use crate::cargo::cargo;
use crate::{command, target};

const VERSION: &str = "0.20.2";

/// The program: of an earlier run, or built now.
pub fn ensure() -> Result<PathBuf> {
    let dir = target().join("cargo-deny").join(VERSION);
    let program = dir.join("bin/cargo-deny");
    fs::create_dir_all(&dir)?;
    let lock = File::create(dir.join("lock"))?;
    lock.lock()?;
    if !program.is_file() {
        println!("xtask: building cargo-deny {VERSION}");
        let build = dir.join("build");
        let mut install = cargo();
        // Unoptimised it is built in a third of the time, and takes a second.
        install.args(["install", "--quiet", "--locked", "--debug", "--version", VERSION]);
        install.env("CARGO_PROFILE_DEV_DEBUG", "false");
        install.arg("--root").arg(&dir).arg("--target-dir").arg(&build).arg("cargo-deny");
        command::output(&mut install)?;
        fs::remove_dir_all(build)?;
    }
    Ok(program.canonicalize()?)
}
