//! Git commands on the project.

use std::process::Command;

use anyhow::Result;

use crate::{command, project};

pub fn git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    // Git refuses to read another user's clone without this.
    git.args(["-c", "safe.directory=*"]).args(arguments).current_dir(project());
    git
}

/// Uncommitted changes, without `.ci/verified`, which the tests write.
pub fn changes() -> Result<String> {
    command::output(&mut git(&["status", "--porcelain", "--", ".", ":!.ci/verified"]))
}

pub fn commit() -> Result<String> {
    Ok(command::output(&mut git(&["rev-parse", "--short", "HEAD"]))?.trim().to_owned())
}
