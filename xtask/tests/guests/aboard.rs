//! Databases aboard a guest: their programs, and data that is made here, where that is quick.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use hopcost_testkit::kept::kept;
use xtask::newer_postgres::NewerPostgres;
use xtask::test::tested_hopcost;
use xtask::{command, libduckdb};

use crate::steps::Steps;

/// Rows of data: the guest is slow, and they travel with it.
pub const ROWS: u32 = 20_000;

/// What a step says before it runs hopcost on such a database.
pub const CACHE: &str = "export XDG_CACHE_HOME=/cache\n";

/// One comparison for all.
const EXPERIMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/both-arms.toml");
const COUNTED: &str = "grep -v pages_in_place /both-arms.toml > counted.toml\n";

/// What makes a run as short as it can be where a call takes some twenty times as long.
pub const QUICK: &str = "--quick --set window=0.3s --set guard=20ms --json --store store.db";

/// Waits until the workers of $run stand at their posts: by then all data is in place.
pub const WORKING: &str = "until [ $(ls /proc/$run/task | wc -l) -gt 6 ]; do [ -d /proc/$run ] || exit 9; sleep 0.2; done";

/// What is not bound stays where it was touched only where the kernel does not balance memory.
pub const UNBALANCED: &str = "\
    balancing=/proc/sys/kernel/numa_balancing
    was=$(cat $balancing); trap 'echo $was > $balancing' EXIT; echo 0 > $balancing
";

/// Experiments as they come, with their names.
pub const SHIPPED: [(&str, &str); 2] = [
    ("memory-policy", include_str!("../../../experiments/memory-policy.toml")),
    ("instances", include_str!("../../../experiments/instances.toml")),
];

/// The same on a query of one table, as `/NAME.toml`: the guest is slow.
pub fn shipped(steps: Steps) -> Steps {
    SHIPPED.iter().fold(steps, |steps, (name, text)| {
        steps.with_text(&format!("/{name}.toml"), &text.replace("reporting_p1", "reporting_p2"))
    })
}

/// A database as it is in a guest.
pub struct Aboard {
    target: String,
    /// What a step says that needs it, once in a boot.
    unpack: String,
    /// Are pages told by who looks them up? Then no proof is asked for where they are as a whole.
    is_counted: bool,
    files: Vec<(PathBuf, String)>,
}

impl Aboard {
    /// SQLite, which comes with hopcost.
    pub fn sqlite(workload: &str) -> Result<Self> {
        let dir = loaded("sqlite:", "sqlite", workload, ROWS)?;
        let mut files = Vec::new();
        for entry in dir.read_dir()? {
            let file = entry?;
            files.push((
                file.path(),
                format!("/cache/hopcost/{}", file.file_name().to_string_lossy()),
            ));
        }
        Ok(Self { target: "sqlite".to_owned(), unpack: String::new(), is_counted: true, files })
    }

    /// The newest PostgreSQL that is installed.
    pub fn postgres(rows: u32) -> Result<Self> {
        let (programs, share) = installed_postgres()?;
        let target = format!("postgres:managed?programs={}", programs.join("bin").display());
        let shared = ["timezonesets", "extension"].map(|name| format!("{share}/{name}"));
        let mut this =
            Self::server(&target, "postgres", rows, &[&shared[0], &shared[1], UTC[0], UTC[1]])?;
        for file in ["bin/postgres", "bin/initdb", "lib/pg_prewarm.so"] {
            let file = programs.join(file);
            let to = file.display().to_string();
            this.files.push((file, to));
        }
        Ok(this)
    }

    /// A newer PostgreSQL than the system's, with its own libraries.
    pub fn newer_postgres(newer: &NewerPostgres) -> Result<Self> {
        let there = Path::new(NEWER).join(NewerPostgres::PROGRAMS);
        let managed = |programs: &Path| format!("postgres:managed?programs={}", programs.display());
        let mut this = Self::server(&managed(&newer.programs()), "newer-postgres", ROWS, &UTC)?;
        let image = made("newer-postgres.tar", |dir| newer.pack(&dir.join("tar")))?;
        this.files.push((image.join("tar"), "/newer.tar".to_owned()));
        this.target = managed(&there);
        this.unpack += "mkdir /newer && tar -C /newer -xf /newer.tar && rm /newer.tar\n";
        Ok(this)
    }

    /// DuckDB, whose library is found where nobody names its file.
    pub fn duckdb() -> Result<Self> {
        let files = vec![(libduckdb::ensure()?, "/usr/local/lib/libduckdb.so".to_owned())];
        Ok(Self { target: "duckdb:".to_owned(), unpack: String::new(), is_counted: false, files })
    }

    /// The MariaDB that is installed, with messages and character sets, without which it does not start.
    pub fn mariadb() -> Result<Self> {
        let share = ["usr/share/mysql/english", "usr/share/mysql/charsets"];
        let mut this = Self::server("mariadb:managed", "mariadb", ROWS, &share)?;
        this.files.push(("/usr/sbin/mariadbd".into(), "/usr/sbin/mariadbd".to_owned()));
        Ok(this)
    }

    /// A server of hopcost's own with its data, and what else it reads of this machine.
    fn server(target: &str, name: &str, rows: u32, share: &[&str]) -> Result<Self> {
        let data = loaded(target, name, "reporting_p2", rows)?;
        let kind = name.trim_start_matches("newer-");
        let tar = made(&format!("{name}-{rows}.tar"), |dir| {
            tar(&dir.join("data"), &data, &[kind])?;
            tar(&dir.join("share"), Path::new("/"), share)
        })?;
        let (of_data, of_share) = (format!("/{name}.data"), format!("/{name}.share"));
        let unpack = format!(
            "mkdir -p /cache/hopcost && gnu-tar -C /cache/hopcost -xf {of_data} || exit 101\n\
             gnu-tar -C / -xf {of_share} && rm {of_data} {of_share} || exit 102\n\
             chmod 755 /cache /cache/hopcost && chown -R nobody /cache/hopcost/{kind}\n"
        );
        let files = vec![
            (tar.join("data"), of_data),
            (tar.join("share"), of_share),
            // Busybox has none for files with holes, and none that keeps them.
            ("/usr/bin/tar".into(), "/usr/local/bin/gnu-tar".to_owned()),
            ("/bin/cp".into(), "/usr/bin/cp".to_owned()),
        ];
        Ok(Self { target: target.to_owned(), unpack, is_counted: kind == "postgres", files })
    }

    /// A comparison of local with remote memory, as short as it can be where a call takes some twenty times as long.
    pub fn both_arms(&self) -> String {
        let Self { target, unpack, is_counted, .. } = self;
        let file = if *is_counted { "counted.toml" } else { "/both-arms.toml" };
        format!(
            "{CACHE}{COUNTED}{UNBALANCED}{unpack}\
             hopcost run {file} --target '{target}' {QUICK} --budget 1s > run"
        )
    }

    /// How it is named, and made ready, in a run of another experiment.
    pub fn named(&self) -> (&str, &str) {
        (&self.target, &self.unpack)
    }

    pub fn comes_with(&self, steps: Steps) -> Steps {
        let steps = steps.with(EXPERIMENT.as_ref(), "/both-arms.toml");
        self.files.iter().fold(steps, |steps, (from, to)| steps.with(from, to))
    }
}

/// Where a newer PostgreSQL than the system's is put.
const NEWER: &str = "/newer";
const UTC: [&str; 2] = ["usr/share/zoneinfo/UTC", "usr/share/zoneinfo/Etc/UTC"];

/// The server's programs, and what they read below `/`.
fn installed_postgres() -> Result<(PathBuf, String)> {
    let all = Path::new("/usr/lib/postgresql");
    let versions = all.read_dir().context("PostgreSQL is not installed")?.filter_map(Result::ok);
    let names = versions.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let newest = names.max_by_key(|name| name.parse::<u32>().unwrap_or(0));
    let newest = newest.context("PostgreSQL is not installed")?;
    Ok((all.join(&newest), format!("usr/share/postgresql/{newest}")))
}

/// A cache of hopcost's with this data in it.
fn loaded(target: &str, name: &str, workload: &str, rows: u32) -> Result<PathBuf> {
    made(&format!("{name}-{workload}-{rows}"), |dir| {
        let mut drive = Command::new(tested_hopcost()?);
        drive.args(["drive", target, "--workload", workload, "--scale", &rows.to_string()]);
        drive.args(["--duration", "0.1s", "--cache-dir"]).arg(dir);
        command::output(&mut drive).map(drop)
    })
}

/// A directory that is made once for all guests.
fn made(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = kept().join(format!("guest-{name}"));
    if !dir.is_dir() {
        let new = tempfile::tempdir_in(kept())?;
        // Servers that root starts run as somebody else.
        fs::set_permissions(new.path(), fs::Permissions::from_mode(0o755))?;
        make(new.path())?;
        // Another process may have made the same meanwhile.
        let renamed = fs::rename(new.keep(), &dir);
        anyhow::ensure!(renamed.is_ok() || dir.is_dir(), "{}: {renamed:?}", dir.display());
    }
    Ok(dir)
}

/// Holes stay holes: most of a new server's log is one.
fn tar(archive: &Path, from: &Path, what: &[&str]) -> Result<()> {
    let mut tar = Command::new("tar");
    // An empty database is of use where data is made.
    tar.args(["--sparse", "--hole-detection=raw", "--exclude=*-empty", "-C"]).arg(from);
    tar.arg("-cf").arg(archive);
    command::run(tar.args(what))
}
