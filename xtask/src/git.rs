//! Git, asked about the project.

use std::process::Command;

use anyhow::Result;

use crate::{command, project};

pub fn git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    // In a clone that belongs to somebody else git wants to be told that it may look.
    git.args(["-c", "safe.directory=*"]).args(arguments).current_dir(project());
    git
}

/// What is not committed, `.ci/verified` aside, which the tests write.
pub fn changes() -> Result<String> {
    command::output(&mut git(&["status", "--porcelain", "--", ".", ":!.ci/verified"]))
}

/// The commit of the work tree, in short.
pub fn commit() -> Result<String> {
    Ok(command::output(&mut git(&["rev-parse", "--short", "HEAD"]))?.trim().to_owned())
}
