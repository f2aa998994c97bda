//! Debian's cloud kernels: fetched as packages with apt, unpacked, never installed.
//!
//! 6.1, and 6.12, which puts memory-only nodes in a separate tier and answers differently for
//! unmapped pages.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::apt::{self, Apt};
use crate::command;
use crate::kept::kept;

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
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
        }
    }

    /// Boot attempts if the kernel dies before its first process.
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

    pub fn fetch(self) -> Result<PathBuf> {
        kept(&format!("vm/{}", self.name()), "vmlinuz", |work| {
            println!("xtask: fetching Debian's {} cloud kernel", self.name());
            let apt = Apt::for_suite(self.suite(), work)?;
            let mut depends = apt.command("apt-cache");
            let depends = command::output(depends.args(["depends", "linux-image-cloud-amd64"]))?;
            let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
            let package =
                package.with_context(|| format!("{} has no cloud kernel", self.suite()))?;
            apt.download(&[package], work)?;
            apt::unpack(work, &work.join("unpacked"))?;
            let boot = work.join("unpacked/boot");
            let mut files = boot.read_dir()?.filter_map(|entry| Some(entry.ok()?.path()));
            let is_image = |path: &PathBuf| path.display().to_string().contains("/vmlinuz");
            files.find(is_image).with_context(|| format!("{}: no kernel", boot.display()))
        })
    }
}
