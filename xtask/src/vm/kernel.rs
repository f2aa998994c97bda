//! Debian's cloud kernels: fetched as packages with apt, unpacked, never installed.
//!
//! Two of them: 6.1, and 6.12, which puts memory-only nodes in a tier of their own and answers
//! differently for unmapped pages.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::apt::{Apt, file_in};
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
    /// Its version.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    /// How often it is booted where it dies before its first process.
    pub(super) const fn most_boots(self) -> u32 {
        match self {
            Self::V6_1 => 5,
            Self::V6_12 => 15,
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
        fs::create_dir_all(&dir)?;
        // Two guests may ask for it at once.
        let lock = File::create(dir.join("lock"))?;
        lock.lock()?;
        if image.is_file() {
            return Ok(image);
        }
        println!("xtask: fetching Debian's {} cloud kernel", self.name());
        let apt = Apt::for_suite(self.suite(), &dir)?;
        let depends =
            command::output(apt.command("apt-cache").args(["depends", "linux-image-cloud-amd64"]))?;
        let package = depends
            .lines()
            .find_map(|line| line.trim().strip_prefix("Depends: "))
            .with_context(|| format!("{} has no cloud kernel", self.suite()))?;
        apt.download(&[package], &dir)?;
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
