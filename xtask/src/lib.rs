//! The developer's tools of hopcost, in Rust: no shell scripts beyond `.ci/run`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // tools talk to the developer

pub mod apt;
pub mod bench;
pub mod command;
pub mod docs;
pub mod libduckdb;
pub mod matrix;
pub mod newer;
pub mod newer_mysql;
pub mod newer_postgres;
pub mod prerequisites;
pub mod test;
pub mod tidy;
pub mod validate;
pub mod vm;

use std::path::{Path, PathBuf};

/// The root of the project.
pub fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), PathBuf::from)
}
