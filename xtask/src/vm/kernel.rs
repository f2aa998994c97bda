//! Debian's cloud kernels: fetched as packages with apt, unpacked, never installed.
//!
//! Two of them: 6.1, and 6.12, which puts memory-only nodes in a tier of their own and answers
//! differently for unmapped pages. The mirror is the one that the system's own apt uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{command, target};

/// A kernel to boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kernel {
    /// Debian 12's.
    #[value(name = "6.1")]
    V6_1,
    /// Debian 13's.
    #[value(name = "6.12")]
    V6_12,
}

impl Kernel {
    const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    const fn suite(self) -> &'static str {
        match self {
            Self::V6_1 => "bookworm",
            Self::V6_12 => "trixie",
        }
    }

    /// The kernel's image, fetched once.
    pub fn fetch(self) -> Result<PathBuf> {
        let dir = target().join("vm").join(self.name());
        let image = dir.join("vmlinuz");
        if image.is_file() {
            return Ok(image);
        }
        println!("xtask: fetching Debian's {} cloud kernel", self.name());
        fs::create_dir_all(&dir)?;
        let apt = Apt::for_suite(self.suite(), &dir)?;
        let depends =
            command::output(apt.command("apt-cache").args(["depends", "linux-image-cloud-amd64"]))?;
        let package = depends
            .lines()
            .find_map(|line| line.trim().strip_prefix("Depends: "))
            .with_context(|| format!("{} has no cloud kernel", self.suite()))?;
        command::output(
            apt.command("apt-get").args(["download", "-q", package]).current_dir(&dir),
        )?;
        let deb = file_in(&dir, |name| name.starts_with("linux-image"))?;
        command::run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(dir.join("unpacked")))?;
        let unpacked = file_in(&dir.join("unpacked/boot"), |name| name.starts_with("vmlinuz"))?;
        // Renamed at the end: an image that is there is whole.
        fs::copy(&unpacked, dir.join("part"))?;
        fs::rename(dir.join("part"), &image)?;
        fs::remove_dir_all(dir.join("unpacked"))?;
        fs::remove_file(deb)?;
        Ok(image)
    }
}

/// apt with a source list and state of its own, so that the system's stay as they are.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn for_suite(suite: &str, dir: &Path) -> Result<Self> {
        let state = dir.join("apt");
        fs::create_dir_all(state.join("lists/partial"))?;
        fs::create_dir_all(state.join("archives/partial"))?;
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        if !Path::new(keyring).is_file() {
            bail!("{keyring} is missing: the emulated machines boot Debian's kernels, on Debian");
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

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }
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

fn file_in(dir: &Path, is: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let found = paths.find(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(&is));
    found.with_context(|| format!("{}: not what was expected", dir.display()))
}
