//! Databases aboard a guest: their programs, and data that is made here, where that is quick.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use hopcost_testkit::kept::kept;
use xtask::command;
use xtask::newer_postgres::NewerPostgres;
use xtask::vm::tested_binary;

use crate::steps::Steps;

/// Rows of data: the guest is slow, and they travel with it.
pub const ROWS: u32 = 20_000;

/// What a step says before it runs hopcost on such a database.
pub const CACHE: &str = "export XDG_CACHE_HOME=/cache\n";

/// What is not bound stays where it was touched only where the kernel does not balance memory.
pub const UNBALANCED: &str = "\
    balancing=/proc/sys/kernel/numa_balancing
    was=$(cat $balancing); trap 'echo $was > $balancing' EXIT; echo 0 > $balancing
";

/// The thief moves single pages, and takes the huge ones apart by debugfs. Left to itself the kernel puts huge pages
/// together again, on the node of the most, and carries used ones home.
pub const BEFORE_THEFT: &str = "\
    balancing=/proc/sys/kernel/numa_balancing huge=/sys/kernel/mm/transparent_hugepage/enabled
    was=$(cat $balancing); echo 0 > $balancing; echo never > $huge
    mount -t debugfs none /sys/kernel/debug || exit 103
    trap 'echo $was > $balancing; echo always > $huge; umount /sys/kernel/debug' EXIT
";

/// A database as it is in a guest.
pub struct Aboard {
    /// What hopcost is told.
    pub target: String,
    /// What a step says that needs it, once in a boot.
    pub unpack: String,
    files: Vec<(PathBuf, String)>,
}

impl Aboard {
    /// SQLite, which comes with hopcost.
    pub fn sqlite(workload: &str) -> Result<Self> {
        let dir = loaded("sqlite:", "sqlite", workload)?;
        let mut files = Vec::new();
        for entry in dir.read_dir()? {
            let file = entry?;
            files.push((
                file.path(),
                format!("/cache/hopcost/{}", file.file_name().to_string_lossy()),
            ));
        }
        Ok(Self { target: "sqlite".to_owned(), unpack: String::new(), files })
    }

    /// The newest PostgreSQL that is installed.
    pub fn postgres() -> Result<Self> {
        let (programs, share) = installed_postgres()?;
        let target = format!("postgres:managed?programs={}", programs.join("bin").display());
        let shared = ["timezonesets", "extension"].map(|name| format!("{share}/{name}"));
        let mut this =
            Self::server(&target, "postgres", &[&shared[0], &shared[1], UTC[0], UTC[1]])?;
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
        let mut this = Self::server(&managed(&newer.programs()), "newer-postgres", &UTC)?;
        let image = made("newer-postgres.tar", |dir| newer.pack(&dir.join("tar")))?;
        this.files.push((image.join("tar"), "/newer.tar".to_owned()));
        this.target = managed(&there);
        this.unpack += "mkdir /newer && tar -C /newer -xf /newer.tar && rm /newer.tar\n";
        Ok(this)
    }

    /// The MariaDB that is installed, with messages and character sets, without which it does not start.
    pub fn mariadb() -> Result<Self> {
        let share = ["usr/share/mysql/english", "usr/share/mysql/charsets"];
        let mut this = Self::server("mariadb:managed", "mariadb", &share)?;
        this.files.push(("/usr/sbin/mariadbd".into(), "/usr/sbin/mariadbd".to_owned()));
        Ok(this)
    }

    /// A server of hopcost's own with its data, and what else it reads of this machine.
    fn server(target: &str, name: &str, share: &[&str]) -> Result<Self> {
        let data = loaded(target, name, "reporting_p2")?;
        let kind = name.trim_start_matches("newer-");
        let tar = made(&format!("{name}.tar"), |dir| {
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
        Ok(Self { target: target.to_owned(), unpack, files })
    }

    pub fn comes_with(&self, steps: Steps) -> Steps {
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
fn loaded(target: &str, name: &str, workload: &str) -> Result<PathBuf> {
    made(&format!("{name}-{workload}-{ROWS}"), |dir| {
        let mut drive = Command::new(tested_binary()?);
        drive.args(["drive", target, "--workload", workload, "--scale", &ROWS.to_string()]);
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
