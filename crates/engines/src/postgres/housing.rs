//! Managed servers: PostgreSQL's programs on this host, and their settings.

use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::{Code, TargetError};
use hopcost_sys::child::Stop;

use super::super::server::account::done;
use super::super::server::copy::ServerCopy;
use super::super::server::managed::{Housing, Programs, Purpose, Start};
use super::super::server::version::numbers;
use super::super::server::wire::Wire as _;
use super::run::{PostgresDialect, pages};
use super::statistics::TIMES_ITS_LOG;
use super::wire::Wire;
use crate::with_commas;

/// Packages of Debian, and of the PostgreSQL project for Red Hat and SUSE.
const BY_VERSION: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
const ALONE: [&str; 3] = ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"];
/// Connections beyond those of the experiment.
const OWN_SESSIONS: u32 = 8;
const MOST_WORKERS: &str = "128";

const ALWAYS: [(&str, &str); 6] = [
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
];

const WHILE_LOADING: [(&str, &str); 6] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("maintenance_work_mem", "512MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1d"),
    ("autovacuum", "off"),
];

impl Housing for PostgresDialect {
    const USERS: &'static [&'static str] = &["postgres"];
    const STOPS: [Stop; 2] = [Stop::AtOnce, Stop::Soon];
    const LOGIN: [&'static str; 2] = ["hopcost", "postgres"];

    fn directories(&self) -> Vec<PathBuf> {
        let of_versions = BY_VERSION.iter().flat_map(|(parent, prefix)| {
            let entries = Path::new(parent).read_dir().into_iter().flatten().flatten();
            let wanted =
                entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
            wanted.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
        });
        of_versions.chain(ALONE.iter().map(PathBuf::from)).collect()
    }

    fn version_in(&self, directory: &Path) -> Option<String> {
        if !directory.join("initdb").exists() {
            return None;
        }
        let output = Command::new(directory.join("postgres")).arg("--version").output().ok()?;
        // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
        let text = String::from_utf8(output.stdout).ok()?;
        text.split_whitespace().nth(2).map(str::to_owned)
    }

    fn missing(&self, wanted: &str, there: &str) -> String {
        format!(
            "no server programs of PostgreSQL{wanted} were found ({there}): install the package \
             postgresql, or name their directory, as postgres:managed?programs=DIR"
        )
    }

    /// `--locale=C` orders text by its bytes.
    fn create(&self, programs: &Programs, data: &Path) -> Result<(), TargetError> {
        let mut command = programs.account.command(&programs.directory.join("initdb"));
        let [user, _] = Self::LOGIN;
        command.arg("-D").arg(data).args(["-U", user, "-A", "trust", "-E", "UTF8", "--locale=C"]);
        command.args(["--no-sync", "--no-instructions"]);
        command.current_dir(data.parent().unwrap_or(Path::new(".")));
        done(&mut command, "initdb")
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let programs = start.programs;
        let mut command = programs.account.command(&programs.directory.join("postgres"));
        command.arg("-D").arg(start.data);
        let socket = start.beside.display().to_string();
        Self::set(&mut command, "unix_socket_directories", &socket);
        let mut set = |(name, value): &(&str, &str)| Self::set(&mut command, name, value);
        ALWAYS.iter().for_each(&mut set);
        if start.purpose == Purpose::Load {
            WHILE_LOADING.iter().for_each(&mut set);
            return command;
        }
        // Costs two clock readings for each write and flush, which take a thousand times as long.
        if numbers(&programs.version).first().is_some_and(|major| *major >= TIMES_ITS_LOG) {
            set(&("track_wal_io_timing", "on"));
        }
        if let Purpose::Serve(home) = start.purpose
            && let Some(huge_pages) = home.copy.huge_pages
        {
            set(&("huge_pages", if huge_pages { "on" } else { "off" }));
        }
        let connections = (start.setup.sessions + OWN_SESSIONS).to_string();
        [
            ("shared_buffers", format!("{}MB", start.memory_mib).as_str()),
            ("max_connections", &connections),
            // The data fits in memory, and background work is turned off.
            ("random_page_cost", "1.1"),
            ("work_mem", "64MB"),
            ("jit", "off"),
            ("max_parallel_workers_per_gather", "0"),
            ("max_worker_processes", MOST_WORKERS),
            ("max_parallel_workers", MOST_WORKERS),
            ("autovacuum", "off"),
            ("bgwriter_lru_maxpages", "0"),
            ("checkpoint_timeout", "1d"),
            ("max_wal_size", "16GB"),
        ]
        .iter()
        .for_each(set);
        command
    }

    fn set(command: &mut Command, name: &str, value: &str) {
        command.arg("-c").arg(format!("{name}={value}"));
    }

    /// The server itself names the file in this directory.
    fn socket(beside: &Path) -> PathBuf {
        beside.to_owned()
    }

    fn make_ready(&self, wire: &mut Wire) -> Result<(), TargetError> {
        wire.query("CREATE EXTENSION pg_prewarm").map(drop).map_err(|error| {
            TargetError::NotHere(Code::ProgramMissing.because(format!(
                "PostgreSQL's extension pg_prewarm is needed to warm it: install its contrib package ({error})"
            )))
        })
    }

    fn about_memory(&self, copy: &ServerCopy<Self>, mib: u64, times: u64) -> String {
        let more = if times > 1 {
            format!(" ({times} times as much of the one on all nodes)")
        } else {
            String::new()
        };
        format!("{} MiB of shared buffers{more}, {}", with_commas(mib), pages(copy))
    }
}
