//! Managed servers: the programs of MySQL and MariaDB on this host, and their settings.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::{Code, TargetError};
use hopcost_sys::child::Stop;

use super::super::server::managed::{Housing, Programs, Purpose, ServerSetting, Start};
use super::super::server::{DATABASE, account::done};
use super::audit::{GENERAL_LOG, SLOW_LOG};
use super::flavour::{Flavour, MySqlDialect};
use super::wire::Wire;
use crate::server::copy::ServerCopy;
use crate::server::tables::data_bytes;
use crate::server::wire::Wire as _;
use crate::with_commas;

/// Connections beyond those of the experiment.
const OWN_SESSIONS: u32 = 8;

const WHILE_LOADING: [(&str, &str); 3] = [
    ("innodb-flush-log-at-trx-commit", "0"),
    ("loose-innodb-doublewrite", "OFF"),
    ("innodb-autoinc-lock-mode", "2"),
];

const DIRECTORIES: [&str; 6] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/opt/mysql/bin",
];

const SYSTEM_TABLES: [&str; 3] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql"];

impl Housing for MySqlDialect {
    const USERS: &'static [&'static str] = &["mysql"];
    const STOPS: [Stop; 2] = [Stop::Killed, Stop::Politely];
    const LOGIN: [&'static str; 2] = ["root", DATABASE];
    const MEMORY_STEP_MIB: u64 = 64;

    fn directories(&self) -> Vec<PathBuf> {
        DIRECTORIES.iter().map(PathBuf::from).collect()
    }

    fn version_in(&self, directory: &Path) -> Option<String> {
        let program = directory.join(self.flavour.program());
        let output = Command::new(program).arg("--version").output().ok()?;
        version_of(self.flavour, &String::from_utf8(output.stdout).ok()?)
    }

    fn missing(&self, wanted: &str, there: &str) -> String {
        let (name, scheme) = (self.flavour.name(), self.flavour.scheme());
        format!(
            "no server program of {name}{wanted} was found ({there}): install the package \
             {scheme}-server-core, or name its directory, as {scheme}:managed?programs=DIR"
        )
    }

    /// Creates a user root without a password.
    fn create(&self, programs: &Programs, data: &Path) -> Result<(), TargetError> {
        let beside = data.parent().unwrap_or(Path::new("."));
        let mut command = self.program(programs);
        // On startup, servers delete other servers' temporary tables from a shared tmpdir.
        command.arg(format!("--datadir={}", data.display()));
        command.arg(format!("--tmpdir={}", beside.display())).current_dir(beside);
        if self.flavour == Flavour::MySql {
            command.arg("--initialize-insecure");
            command.arg(format!("--secure-file-priv={}", beside.display()));
            return done(&mut command, "mysqld --initialize-insecure");
        }
        let failed = |error: io::Error| TargetError::Failed(format!("{}: {error}", data.display()));
        let script = beside.join("system-tables.sql");
        fs::write(&script, system_tables(programs)?).map_err(failed)?;
        fs::create_dir(data).and_then(|()| programs.account.give(data)).map_err(failed)?;
        command.arg("--bootstrap").stdin(File::open(&script).map_err(failed)?);
        done(&mut command, "mariadbd --bootstrap")
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = self.program(start.programs);
        // Some of these have packaged defaults in directories that only a full installation
        // creates.
        let at = |name: &str| start.beside.join(name);
        for (name, path) in [
            ("datadir", start.data.to_owned()),
            ("socket", Self::socket(start.beside)),
            ("tmpdir", start.beside.to_owned()),
            ("secure-file-priv", start.beside.to_owned()),
            ("general-log-file", at(GENERAL_LOG)),
            ("slow-query-log-file", at(SLOW_LOG)),
            ("pid-file", at("pid")),
        ] {
            Self::set(&mut command, name, &path.display().to_string());
        }
        command.arg("--skip-log-bin");
        for (name, value) in self.settings(start) {
            Self::set(&mut command, name, &value);
        }
        if start.purpose == Purpose::Load {
            for (name, value) in WHILE_LOADING {
                Self::set(&mut command, name, value);
            }
        }
        command
    }

    fn set(command: &mut Command, name: &str, value: &str) {
        command.arg(format!("--{name}={value}"));
    }

    fn socket(beside: &Path) -> PathBuf {
        beside.join("socket")
    }

    fn make_ready(&self, wire: &mut Wire) -> Result<(), TargetError> {
        wire.query(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        Ok(())
    }

    /// A full purge and merge, so that a copied data directory needs no recovery.
    fn before_stop(&self, wire: &mut Wire) -> Result<(), TargetError> {
        wire.query("SET GLOBAL innodb_fast_shutdown = 0")?;
        Ok(())
    }

    fn about_memory(&self, _: &ServerCopy<Self>, mib: u64, _times: u64) -> String {
        format!("{} MiB of buffer pool", with_commas(mib))
    }
}

impl MySqlDialect {
    fn program(&self, programs: &Programs) -> Command {
        let program = programs.directory.join(self.flavour.program());
        let mut command = programs.account.command(&program);
        command.arg("--no-defaults");
        command
    }

    /// Settings that only one of the two servers knows are prefixed with `loose`.
    fn settings(&self, start: &Start<'_>) -> Vec<ServerSetting> {
        let pool = format!("{}M", start.memory_mib);
        let connections = (start.setup.sessions + OWN_SESSIONS).to_string();
        let heap = (2 * data_bytes::<Self>(start.setup)).max(64 << 20).to_string();
        // From 8.0.30 on MySQL uses innodb-redo-log-capacity instead.
        let log_size =
            (self.flavour == Flavour::MariaDb).then(|| ("innodb-log-file-size", "256M".to_owned()));
        [
            ("log-output", "FILE"),
            ("skip-networking", "ON"),
            ("skip-name-resolve", "ON"),
            ("local-infile", "ON"),
            ("max-connections", &connections),
            // Threads are pinned per connection: a cached thread would bring the last one's CPUs.
            ("thread-cache-size", "0"),
            ("loose-thread-handling", "one-thread-per-connection"),
            ("loose-mysqlx", "OFF"),
            ("performance-schema", "ON"),
            ("character-set-server", "utf8mb4"),
            ("collation-server", "utf8mb4_bin"),
            // One buffer pool that holds everything, and no background work that can be turned off.
            ("innodb-buffer-pool-size", &pool),
            ("loose-innodb-buffer-pool-instances", "1"),
            ("loose-innodb-buffer-pool-chunk-size", &pool),
            ("innodb-buffer-pool-dump-at-shutdown", "OFF"),
            ("innodb-buffer-pool-load-at-startup", "OFF"),
            ("innodb-stats-auto-recalc", "OFF"),
            ("loose-innodb-redo-log-capacity", "256M"),
            ("loose-innodb-log-writer-threads", "ON"),
            ("max-heap-table-size", &heap),
        ]
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .chain(log_size)
        .collect()
    }
}

/// As MariaDB's installer does it.
fn system_tables(programs: &Programs) -> Result<Vec<u8>, TargetError> {
    let prefix = programs.directory.parent().unwrap_or(Path::new("/usr"));
    let shares = ["share/mysql", "share/mariadb", "share"].map(|dir| prefix.join(dir));
    let mut script =
        b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n".to_vec();
    for name in SYSTEM_TABLES {
        let names = ["mysql", "mariadb"].map(|of| format!("{of}_{name}"));
        let files = shares.iter().flat_map(|share| names.iter().map(|name| share.join(name)));
        script.extend(files.into_iter().find_map(|file| fs::read(file).ok()).ok_or_else(|| {
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

fn version_of(flavour: Flavour, text: &str) -> Option<String> {
    // MariaDB also installs a program `mysqld`.
    if text.contains("MariaDB") != (flavour == Flavour::MariaDb) {
        return None;
    }
    let version = text.split_whitespace().skip_while(|word| *word != "Ver").nth(1)?;
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    Some(version[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_are_told_apart_by_what_they_say() {
        let mariadb =
            "mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)";
        let mysql = "/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (Debian)";
        assert_eq!(version_of(Flavour::MariaDb, mariadb).as_deref(), Some("10.11.14"));
        assert_eq!(version_of(Flavour::MySql, mysql).as_deref(), Some("9.7.4"));
        assert_eq!(version_of(Flavour::MySql, mariadb), None);
        assert_eq!(version_of(Flavour::MariaDb, mysql), None);
    }
}
