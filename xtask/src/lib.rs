//! The developer's tools of hopcost.
#![allow(clippy::print_stdout, clippy::print_stderr)] // tools talk to the developer

pub mod apt;
pub mod cargo;
pub mod cargo_tools;
mod clock;
pub mod command;
pub mod git;
pub mod kept;
pub mod libduckdb;
pub mod newer;
pub mod newer_mysql;
pub mod newer_postgres;
pub mod prerequisites;
pub mod test;
pub mod tidy;
pub mod vm;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), PathBuf::from)
}

/// A process's own directory belongs to its user.
pub fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|metadata| metadata.uid() == 0)
}
