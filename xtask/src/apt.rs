//! Debian packages for tests: fetched with apt, signature checked, unpacked, never installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::kept::kept;

/// Has its own source list and state, separate from the system's.
pub struct Apt {
    options: Vec<String>,
}

impl Apt {
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

    fn of_system(dir: &Path) -> Result<Self> {
        let archives = dir.join("archives");
        fs::create_dir_all(archives.join("partial"))?;
        let apt = Self { options: vec![format!("-oDir::Cache::Archives={}", archives.display())] };
        if mirror().is_err() {
            command::output(apt.command("apt-get").args(["update", "-q"]))?;
        }
        Ok(apt)
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    pub fn download(&self, packages: &[&str], into: &Path) -> Result<()> {
        let mut download = self.command("apt-get");
        download.args(["download", "-q"]).args(packages).current_dir(into);
        command::output(&mut download).map(drop)
    }
}

/// Packages of the system's suites, unpacked, cached.
///
/// They must match the system's libraries, so updates and security fixes are included.
pub fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf> {
    kept(&format!("unpacked/{name}"), "root", |work| {
        println!("xtask: fetching {}", packages.join(", "));
        Apt::of_system(work)?.download(packages, work)?;
        let root = work.join("unpacked");
        unpack(work, &root)?;
        Ok(root)
    })
}

pub fn unpack(from: &Path, into: &Path) -> Result<Vec<String>> {
    let files = from.read_dir()?.map(|entry| Ok(entry?.file_name()));
    let mut names = files.collect::<Result<Vec<OsString>>>()?;
    names.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "deb"));
    names.sort();
    for name in &names {
        command::run(Command::new("dpkg-deb").arg("-x").arg(from.join(name)).arg(into))?;
    }
    Ok(names.iter().map(|name| name.to_string_lossy().into_owned()).collect())
}

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
