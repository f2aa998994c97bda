//! PostgreSQL's programs on this host.

use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::{Code, TargetError};

use super::super::remote::account::Account;
use super::super::remote::address::Managed;
use super::super::remote::version::numbers;

/// Where packages put them, version by version: Debian's, and those of the PostgreSQL project for Red Hat
/// and SUSE.
const BY_VERSION: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
/// Where a build from source puts them, and other packages.
const ALONE: [&str; 3] = ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"];

/// The programs of one version.
#[derive(Clone, Debug)]
pub struct Programs {
    directory: PathBuf,
    /// Such as `15.18`.
    pub version: String,
    /// Whom they run as.
    pub account: Account,
}

impl Programs {
    /// Those that are asked for; the newest where any will do.
    pub fn find(managed: &Managed) -> Result<Self, TargetError> {
        let directories = managed.programs.clone().map_or_else(usual_directories, |dir| vec![dir]);
        let mut found: Vec<(Vec<u32>, String, PathBuf)> = directories
            .into_iter()
            .filter_map(|dir| version_of(&dir).map(|version| (numbers(&version), version, dir)))
            .collect();
        found.sort();
        let is_wanted = |version: &str| match &managed.version {
            Some(wanted) => numbers(version).starts_with(&numbers(wanted)),
            None => true,
        };
        let mut there: Vec<String> = found.iter().map(|(_, version, _)| version.clone()).collect();
        there.dedup();
        let chosen = found.into_iter().rev().find(|(_, version, _)| is_wanted(version));
        let Some((_, version, directory)) = chosen else {
            return Err(TargetError::NotHere(
                Code::ProgramMissing.because(missing(managed, &there)),
            ));
        };
        Ok(Self { directory, version, account: Account::of_server("PostgreSQL", &["postgres"])? })
    }

    /// The first number of the version.
    pub fn major(&self) -> u32 {
        numbers(&self.version).first().copied().unwrap_or(0)
    }

    /// A command, as the server's user.
    pub fn command(&self, program: &str) -> Command {
        self.account.command(&self.directory.join(program))
    }
}

fn usual_directories() -> Vec<PathBuf> {
    let of_versions = BY_VERSION.iter().flat_map(|(parent, prefix)| {
        let entries = Path::new(parent).read_dir().into_iter().flatten().flatten();
        let wanted =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        wanted.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
    });
    of_versions.chain(ALONE.iter().map(PathBuf::from)).collect()
}

/// The version of the server in a directory, where all that is needed is in it.
fn version_of(directory: &Path) -> Option<String> {
    if !directory.join("initdb").exists() {
        return None;
    }
    let output = Command::new(directory.join("postgres")).arg("--version").output().ok()?;
    // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(2).map(str::to_owned)
}

fn missing(managed: &Managed, there: &[String]) -> String {
    let wanted = managed.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let there = if there.is_empty() {
        "none is installed here".to_owned()
    } else {
        format!("here there is {}", there.join(", "))
    };
    format!(
        "no server programs of PostgreSQL{wanted} were found ({there}): install the package \
         postgresql, or name their directory, as postgres:managed?programs=DIR"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_there_is_named_with_those_that_are() {
        let managed = Managed { version: Some("3".to_owned()), ..Managed::default() };
        let refused = Programs::find(&managed).unwrap_err();
        assert_eq!(refused.code(), Code::ProgramMissing);
        let words = refused.to_string();
        assert!(
            words.contains("PostgreSQL 3 were found") && words.contains("programs=DIR"),
            "{words}"
        );
    }
}
