//! Databases in a guest: their programs, and data prepared on the host, which is faster.

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

/// Few rows, because the guest is slow and they are copied into it.
pub const ROWS: u32 = 20_000;

/// Shell text that a step needs before it runs hopcost on such a database.
pub const CACHE: &str = "export XDG_CACHE_HOME=/cache\n";

const EXPERIMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/both-arms.toml");
const COUNTED: &str = "grep -v pages_in_place /both-arms.toml > counted.toml\n";

/// The shortest possible run: a call is about twenty times slower here.
pub const QUICK: &str = "--quick --set window=0.3s --set guard=20ms --json --store store.db";

/// Waits until the workers of $run exist; all data is in place by then.
pub const WORKING: &str = "until [ $(ls /proc/$run/task | wc -l) -gt 6 ]; do [ -d /proc/$run ] || exit 9; sleep 0.2; done";

/// Unbound memory stays where it was touched only without automatic balancing.
pub const UNBALANCED: &str = "\
    balancing=/proc/sys/kernel/numa_balancing
    was=$(cat $balancing); trap 'echo $was > $balancing' EXIT; echo 0 > $balancing
";

pub const SHIPPED: [(&str, &str); 2] = [
    ("memory-policy", include_str!("../../../experiments/memory-policy.toml")),
    ("instances", include_str!("../../../experiments/instances.toml")),
];

pub fn shipped(steps: Steps) -> Steps {
    SHIPPED.iter().fold(steps, |steps, (name, text)| {
        steps.with_text(&format!("/{name}.toml"), &text.replace("reporting_p1", "reporting_p2"))
    })
}

pub struct Aboard {
    target: String,
    /// Shell text to run once per boot before its use.
    unpack: String,
    /// Are page accesses counted by session? Then no proof for the whole is expected.
    is_counted: bool,
    files: Vec<(PathBuf, String)>,
}

impl Aboard {
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

    /// Its library must be found without an explicit path.
    pub fn duckdb() -> Result<Self> {
        let files = vec![(libduckdb::ensure()?, "/usr/local/lib/libduckdb.so".to_owned())];
        Ok(Self { target: "duckdb:".to_owned(), unpack: String::new(), is_counted: false, files })
    }

    pub fn mariadb() -> Result<Self> {
        let share = ["usr/share/mysql/english", "usr/share/mysql/charsets"];
        let mut this = Self::server("mariadb:managed", "mariadb", ROWS, &share)?;
        this.files.push(("/usr/sbin/mariadbd".into(), "/usr/sbin/mariadbd".to_owned()));
        Ok(this)
    }

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
            // Busybox's tar and cp do not support sparse files.
            ("/usr/bin/tar".into(), "/usr/local/bin/gnu-tar".to_owned()),
            ("/bin/cp".into(), "/usr/bin/cp".to_owned()),
        ];
        Ok(Self { target: target.to_owned(), unpack, is_counted: kind == "postgres", files })
    }

    pub fn both_arms(&self) -> String {
        let Self { target, unpack, is_counted, .. } = self;
        let file = if *is_counted { "counted.toml" } else { "/both-arms.toml" };
        format!(
            "{CACHE}{COUNTED}{UNBALANCED}{unpack}\
             hopcost run {file} --target '{target}' {QUICK} --budget 1s > run"
        )
    }

    pub fn named(&self) -> (&str, &str) {
        (&self.target, &self.unpack)
    }

    pub fn comes_with(&self, steps: Steps) -> Steps {
        let steps = steps.with(EXPERIMENT.as_ref(), "/both-arms.toml");
        self.files.iter().fold(steps, |steps, (from, to)| steps.with(from, to))
    }
}

const NEWER: &str = "/newer";
const UTC: [&str; 2] = ["usr/share/zoneinfo/UTC", "usr/share/zoneinfo/Etc/UTC"];

fn installed_postgres() -> Result<(PathBuf, String)> {
    let all = Path::new("/usr/lib/postgresql");
    let versions = all.read_dir().context("PostgreSQL is not installed")?.filter_map(Result::ok);
    let names = versions.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let newest = names.max_by_key(|name| name.parse::<u32>().unwrap_or(0));
    let newest = newest.context("PostgreSQL is not installed")?;
    Ok((all.join(&newest), format!("usr/share/postgresql/{newest}")))
}

fn loaded(target: &str, name: &str, workload: &str, rows: u32) -> Result<PathBuf> {
    made(&format!("{name}-{workload}-{rows}"), |dir| {
        let mut drive = Command::new(tested_hopcost()?);
        drive.args(["drive", target, "--workload", workload, "--scale", &rows.to_string()]);
        drive.args(["--duration", "0.1s", "--cache-dir"]).arg(dir);
        command::output(&mut drive).map(drop)
    })
}

fn made(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = kept().join(format!("guest-{name}"));
    if !dir.is_dir() {
        let new = tempfile::tempdir_in(kept())?;
        // Servers that root starts run as another user.
        fs::set_permissions(new.path(), fs::Permissions::from_mode(0o755))?;
        make(new.path())?;
        let renamed = fs::rename(new.keep(), &dir);
        anyhow::ensure!(renamed.is_ok() || dir.is_dir(), "{}: {renamed:?}", dir.display());
    }
    Ok(dir)
}

/// Keeps files sparse: most of a new server's log is a hole.
fn tar(archive: &Path, from: &Path, what: &[&str]) -> Result<()> {
    let mut tar = Command::new("tar");
    // Empty databases are only needed to make data.
    tar.args(["--sparse", "--hole-detection=raw", "--exclude=*-empty", "-C"]).arg(from);
    tar.arg("-cf").arg(archive);
    command::run(tar.args(what))
}
