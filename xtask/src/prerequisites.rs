//! Installs what the tests need beside Rust, or fails with a list of what is missing.

use std::process::Command;
use std::thread::JoinHandle;

use anyhow::{Result, anyhow, bail};

use crate::vm::Kernel;
use crate::{cargo_tools, command, is_root, libduckdb};

const NEEDED: &[(&str, &str)] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("dpkg-deb", "dpkg"),
    ("tar", "tar"),
    ("setpriv", "util-linux"),
    ("sysctl", "procps"),
    ("systemd-analyze", "systemd"),
    ("numactl", "numactl"),
    ("lstopo-no-graphics", "hwloc-nox"),
    ("pg_ctlcluster", "postgresql"),
    ("openssl", "openssl"),
    ("mariadbd", "mariadb-server-core"),
    ("curl", "curl"),
    ("update-ca-certificates", "ca-certificates"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("groff", "groff-base"),
];

const NEEDED_BY: &[(&str, &str, &str)] =
    &[("release", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")];

pub struct Fetching(JoinHandle<Result<()>>);

impl Fetching {
    pub fn wait(self) -> Result<()> {
        self.0.join().map_err(|_| anyhow!("fetching what the tests need"))?
    }
}

/// Fails at once if something cannot be installed.
pub fn ensure_in_background(groups: &[&str]) -> Result<Fetching> {
    let of_groups = NEEDED_BY.iter().filter(|(group, ..)| groups.contains(group));
    let of_groups = of_groups.map(|(_, program, packages)| (program, packages));
    let needed = NEEDED.iter().map(|(program, package)| (program, package)).chain(of_groups);
    let missing = needed.filter(|(program, _)| !command::exists(program));
    let missing: Vec<&str> = missing.flat_map(|(_, packages)| packages.split(' ')).collect();
    if !missing.is_empty() && (!is_root() || !command::exists("apt-get")) {
        bail!(
            "the tests need {}; install with\n    sudo {INSTALL} {}",
            missing.join(", "),
            missing.join(" ")
        );
    }
    let needs_cargo_deny = groups.contains(&"dependencies");
    Ok(Fetching(std::thread::spawn(move || {
        install(&missing)?;
        Kernel::V6_1.fetch()?;
        if needs_cargo_deny {
            cargo_tools::cargo_deny()?;
        }
        libduckdb::ensure().map(drop)
    })))
}

const INSTALL: &str = "apt-get install --no-install-recommends";

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    println!("xtask: {INSTALL} {}", missing.join(" "));
    command::output(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "-q", "-y", "--no-install-recommends"]).args(missing);
    command::output(&mut apt)?;
    if missing.contains(&"postgresql") {
        drop_clusters()?;
    }
    Ok(())
}

/// Debian's package creates and starts a cluster, which would be a running server on this machine.
fn drop_clusters() -> Result<()> {
    for line in command::output(Command::new("pg_lsclusters").arg("--no-header"))?.lines() {
        if let [version, name, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
            let mut drop = Command::new("pg_dropcluster");
            command::output(drop.args(["--stop", version, name]))?;
        }
    }
    Ok(())
}
