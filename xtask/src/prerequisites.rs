//! What the tests need beside Rust: installed where we may, named where we may not. Never skipped.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::command;

/// Programs, and the Debian packages that bring them.
const NEEDED: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("dpkg-deb", "dpkg"),
    ("tar", "tar"),
    ("setpriv", "util-linux"),
    ("numactl", "numactl"),
    ("lstopo-no-graphics", "hwloc-nox"),
    ("pg_ctlcluster", "postgresql"),
    ("openssl", "openssl"),
    ("mariadbd", "mariadb-server-core"),
    ("curl", "curl"),
    ("update-ca-certificates", "ca-certificates"),
];

/// Makes sure that all of it is here.
pub fn ensure() -> Result<()> {
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(program, _)| !command::exists(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = format!("apt-get install --no-install-recommends {}", missing.join(" "));
    if !is_root() || !command::exists("apt-get") {
        bail!("the tests need {}; install with\n    sudo {install}", missing.join(", "));
    }
    println!("xtask: {install}");
    command::run(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "-q", "-y", "--no-install-recommends"]).args(&missing);
    command::run(&mut apt)
}

/// A process's own directory belongs to its user.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|metadata| metadata.uid() == 0)
}
