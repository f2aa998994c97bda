//! Running other programs, with errors that name them.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| describe(command))?;
    if status.success() { Ok(()) } else { bail!("{}: {status}", describe(command)) }
}

/// Returns stdout; a failure's error includes stderr.
pub fn output(command: &mut Command) -> Result<String> {
    let result = command.stdin(Stdio::null()).output().with_context(|| describe(command))?;
    if !result.status.success() {
        let errors = String::from_utf8_lossy(&result.stderr);
        bail!("{}: {}: {}", describe(command), result.status, errors.trim());
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}

/// Also searches the sbin directories, which an ordinary user's PATH lacks.
pub fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_root = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    std::env::split_paths(&path).chain(of_root).any(|dir| dir.join(program).is_file())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
