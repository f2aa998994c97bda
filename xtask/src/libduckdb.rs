//! DuckDB's library for tests.
//!
//! From the npm registry, because Debian 12 has none and a newer suite's needs a newer C library.
//! One version, fetched with curl and checked against a recorded digest.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::kept::kept;

const VERSION: &str = "1.5.6-r.1";
const PACKAGE: &str =
    "https://registry.npmjs.org/@duckdb/node-bindings-linux-x64/-/node-bindings-linux-x64";
const SHA_512: &str = "\
    21772b64913a904a8cd19e30c1d5671811d7fdface4b7dd53cd0300d743f43e16cf386f4e7c41ef78721ac2088\
    70d2651bc6375072145387817824315b998dd5";

pub fn ensure() -> Result<PathBuf> {
    kept(&format!("libduckdb/{VERSION}"), "libduckdb.so", |work| {
        let url = format!("{PACKAGE}-{VERSION}.tgz");
        println!("xtask: fetching {url}");
        let archive = work.join("package.tgz");
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--show-error", "--location", "--output"]);
        command::output(curl.arg(&archive).arg(&url)).context("DuckDB's library for tests")?;
        let digest = command::output(Command::new("sha512sum").arg(&archive))?;
        ensure!(digest.starts_with(SHA_512), "{url} is not what it was: {digest}");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(work);
        command::run(tar.arg("package/libduckdb.so"))?;
        Ok(work.join("package/libduckdb.so"))
    })
}
