//! Debian's packages for tests: fetched with apt, unpacked, never installed.
//!
//! The mirror is the one that the system's own apt uses, and what comes from it is held against the
//! archive's signature.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{command, target};

/// apt with a source list and state of its own, so that the system's stay as they are.
pub struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// With the lists of one suite, fetched into `dir`.
    pub fn for_suite(suite: &str, dir: &Path) -> Result<Self> {
        let state = dir.join("apt");
        fs::create_dir_all(state.join("lists/partial"))?;
        fs::create_dir_all(state.join("archives/partial"))?;
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        if !Path::new(keyring).is_file() {
            bail!("{keyring} is missing: the tests use packages of Debian's, on Debian");
        }
        let list = state.join("sources.list");
        fs::write(&list, format!("deb [signed-by={keyring}] {} {suite} main\n", mirror()?))?;
        let option = |name: &str, value: &Path| format!("-o{name}={}", value.display());
        let apt = Self {
            options: vec![
                option("Dir::Etc::SourceList", &list),
                option("Dir::Etc::SourceParts", Path::new("/dev/null")),
                option("Dir::State::Lists", &state.join("lists")),
                option("Dir::Cache", &state),
                "-oAcquire::Languages=none".into(),
            ],
        };
        command::output(apt.command("apt-get").args(["update", "-q"]))?;
        Ok(apt)
    }

    /// With the lists that the system itself has.
    fn of_system(dir: &Path) -> Result<Self> {
        let archives = dir.join("archives");
        fs::create_dir_all(archives.join("partial"))?;
        let apt = Self { options: vec![format!("-oDir::Cache::Archives={}", archives.display())] };
        if mirror().is_err() {
            command::output(apt.command("apt-get").args(["update", "-q"]))?;
        }
        Ok(apt)
    }

    /// One of apt's programs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    /// Fetches packages into a directory.
    pub fn download(&self, packages: &[&str], into: &Path) -> Result<()> {
        let mut download = self.command("apt-get");
        download.args(["download", "-q"]).args(packages).current_dir(into);
        command::output(&mut download).map(drop)
    }
}

/// Packages of the system's own suites, unpacked: of an earlier run, or fetched now.
///
/// They have to match the system's libraries, which may be newer than the suite's first ones: so its updates and
/// security fixes count, too.
pub fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let dir = target().join("unpacked").join(name);
    let root = dir.join("root");
    fs::create_dir_all(&dir)?;
    let lock = File::create(dir.join("lock"))?;
    lock.lock()?;
    if root.is_dir() {
        return Ok(root.canonicalize()?);
    }
    println!("xtask: fetching {}", packages.join(", "));
    let (files, part) = (dir.join("packages"), dir.join("part"));
    for left in [&files, &part] {
        if left.is_dir() {
            fs::remove_dir_all(left)?;
        }
    }
    fs::create_dir_all(&files)?;
    Apt::of_system(&dir)?.download(packages, &files)?;
    for file in files.read_dir()? {
        command::run(Command::new("dpkg-deb").arg("-x").arg(file?.path()).arg(&part))?;
    }
    fs::rename(part, &root)?;
    fs::remove_dir_all(files)?;
    Ok(root.canonicalize()?)
}

/// Where this system gets Debian's packages from.
fn mirror() -> Result<String> {
    let format = "$(ORIGIN) $(LABEL) $(REPO_URI)";
    let targets = command::output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
    ]))?;
    let mirror = targets.lines().find_map(|line| line.strip_prefix("Debian Debian "));
    mirror.map(str::to_owned).context("apt knows no Debian mirror: run apt-get update")
}

/// The file of a directory whose name fits.
pub fn file_in(dir: &Path, is: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let found = paths.find(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(&is));
    found.with_context(|| format!("{}: not what was expected", dir.display()))
}
