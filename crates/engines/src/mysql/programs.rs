//! The programs of MySQL and MariaDB on this host.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::{Code, TargetError};

use super::super::remote::account::{Account, done};
use super::super::remote::address::Managed;
use super::super::remote::version::numbers;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

impl Flavour {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
        }
    }

    /// In URLs.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }

    const fn server(self) -> &'static str {
        match self {
            Self::MySql => "mysqld",
            Self::MariaDb => "mariadbd",
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::MySql => "mysql-server-core",
            Self::MariaDb => "mariadb-server-core",
        }
    }
}

/// Where packages put servers, and builds from source.
const DIRECTORIES: [&str; 6] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/opt/mysql/bin",
];

/// A server's program, and whom it runs as.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Which of the two it is.
    pub flavour: Flavour,
    directory: PathBuf,
    /// Such as `10.11.14`.
    pub version: String,
    /// Whom it runs as.
    pub account: Account,
}

impl Programs {
    /// Those that are asked for; the newest where any will do.
    pub fn find(flavour: Flavour, managed: &Managed) -> Result<Self, TargetError> {
        let usual = || DIRECTORIES.iter().map(PathBuf::from).collect();
        let directories: Vec<PathBuf> =
            managed.programs.clone().map_or_else(usual, |dir| vec![dir]);
        let mut found: Vec<(Vec<u32>, String, PathBuf)> = directories
            .into_iter()
            .filter_map(|dir| {
                version_of(flavour, &dir).map(|version| (numbers(&version), version, dir))
            })
            .collect();
        found.sort();
        let wanted = managed.version.as_deref();
        let is_wanted = |of: &[u32]| wanted.is_none_or(|wanted| of.starts_with(&numbers(wanted)));
        let there: Vec<&str> = found.iter().map(|(_, version, _)| version.as_str()).collect();
        let there = there.join(", ");
        let chosen = found.iter().rev().find(|(numbers, ..)| is_wanted(numbers));
        let Some((_, version, directory)) = chosen.cloned() else {
            return Err(TargetError::NotHere(
                Code::ProgramMissing.because(missing(flavour, wanted, &there)),
            ));
        };
        let account = Account::of_server(flavour.name(), &["mysql"])?;
        Ok(Self { flavour, directory, version, account })
    }

    /// The server, as its user, with no settings but those that follow.
    pub fn server(&self) -> Command {
        let mut command = self.account.command(&self.directory.join(self.flavour.server()));
        command.arg("--no-defaults");
        command
    }

    /// An empty data directory, with a user root who needs no password.
    pub fn create(&self, data: &Path) -> Result<(), TargetError> {
        let directory = format!("--datadir={}", data.display());
        let beside = data.parent().unwrap_or(Path::new("."));
        // Each clears this directory of other servers' temporary tables when it begins.
        let temporary = format!("--tmpdir={}", beside.display());
        match self.flavour {
            Flavour::MySql => {
                let mut command = self.server();
                command.args(["--initialize-insecure", &directory, &temporary]).current_dir(beside);
                command.arg(format!("--secure-file-priv={}", beside.display()));
                done(&mut command, "mysqld --initialize-insecure")
            }
            Flavour::MariaDb => {
                let failed =
                    |error: io::Error| TargetError::Failed(format!("{directory}: {error}"));
                let script = beside.join("system-tables.sql");
                fs::write(&script, self.system_tables()?).map_err(failed)?;
                fs::create_dir(data).and_then(|()| self.account.give(data)).map_err(failed)?;
                let mut command = self.server();
                command.args(["--bootstrap", &directory, &temporary]).current_dir(beside);
                command.stdin(File::open(&script).map_err(failed)?);
                done(&mut command, "mariadbd --bootstrap")
            }
        }
    }

    /// What makes MariaDB's own tables, and a user root without a password: what its installer says.
    fn system_tables(&self) -> Result<Vec<u8>, TargetError> {
        let prefix = self.directory.parent().unwrap_or(Path::new("/usr"));
        let shares = ["share/mysql", "share/mariadb", "share"].map(|dir| prefix.join(dir));
        let mut script =
            b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n".to_vec();
        for name in SYSTEM_TABLES {
            let found = shares.iter().find_map(|share| {
                ["mysql", "mariadb"]
                    .iter()
                    .find_map(|of| fs::read(share.join(format!("{of}_{name}"))).ok())
            });
            script.extend(found.ok_or_else(|| {
                let words = format!(
                    "mysql_{name} is not where MariaDB has it ({}): install its server package whole",
                    shares[0].display()
                );
                TargetError::NotHere(Code::ProgramMissing.because(words))
            })?);
            script.push(b'\n');
        }
        Ok(script)
    }
}

/// Its scripts, in their order.
const SYSTEM_TABLES: [&str; 3] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql"];

/// The version of the server in a directory, where it is of this flavour.
fn version_of(flavour: Flavour, directory: &Path) -> Option<String> {
    let output = Command::new(directory.join(flavour.server())).arg("--version").output().ok()?;
    version_in(flavour, &String::from_utf8(output.stdout).ok()?)
}

/// `mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64`.
fn version_in(flavour: Flavour, text: &str) -> Option<String> {
    // MariaDB answers to MySQL's name, too.
    if text.contains("MariaDB") != (flavour == Flavour::MariaDb) {
        return None;
    }
    let version = text.split_whitespace().skip_while(|word| *word != "Ver").nth(1)?;
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    Some(version[..end].to_owned())
}

fn missing(flavour: Flavour, wanted: Option<&str>, there: &str) -> String {
    let (name, package, scheme) = (flavour.name(), flavour.package(), flavour.scheme());
    let wanted = wanted.map_or(String::new(), |version| format!(" {version}"));
    let there = if there.is_empty() {
        "none is installed here".to_owned()
    } else {
        format!("here there is {there}")
    };
    format!(
        "no server program of {name}{wanted} was found ({there}): install the package {package}, or name \
         its directory, as {scheme}:managed?programs=DIR"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_are_told_apart_by_what_they_say() {
        let mariadb =
            "mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)";
        let mysql = "/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (Debian)";
        assert_eq!(version_in(Flavour::MariaDb, mariadb).as_deref(), Some("10.11.14"));
        assert_eq!(version_in(Flavour::MySql, mysql).as_deref(), Some("9.7.4"));
        assert_eq!(version_in(Flavour::MySql, mariadb), None);
        assert_eq!(version_in(Flavour::MariaDb, mysql), None);
    }

    #[test]
    fn a_version_that_is_not_there_is_named_with_those_that_are() {
        let managed = Managed { version: Some("3".to_owned()), ..Managed::default() };
        let refused = Programs::find(Flavour::MariaDb, &managed).unwrap_err();
        assert_eq!(refused.code(), Code::ProgramMissing);
        let words = refused.to_string();
        assert!(words.contains("MariaDB 3 was found") && words.contains("programs=DIR"), "{words}");
    }
}
