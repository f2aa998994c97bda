//! `cargo lab dist`: a tarball and a Debian package for the servers that databases run on.
//!
//! Method: cargo-zigbuild links against the symbols of glibc 2.28 (RHEL 8, Debian 11, Ubuntu 20.04), and
//! cargo-deb packs. Both, and Zig, are built or fetched once, below cargo's target directory. `--try`
//! installs the package in root trees of Debian, where it has to survey.
//! Limits: Debian's mirrors have no suite with glibc 2.28 any more, so for it the versions of the symbols
//! are read from the binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use xtask::kept::kept;
use xtask::{cargo_tools, command, project, target};

const ZIGBUILD: &str = "0.24.1";
const ZIG: &str = "0.15.2";
const CARGO_DEB: &str = "3.8.0";
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
/// Minor version of glibc 2.
const GLIBC: u32 = 28;
/// glibc 2.31 and 2.36.
const SUITES: [&str; 2] = ["bullseye", "bookworm"];
const SHELLS: [(&str, &str); 3] =
    [("bash", "hopcost"), ("zsh", "_hopcost"), ("fish", "hopcost.fish")];

pub fn run(is_tried: bool, with_arm: bool) -> Result<u8> {
    let dist = project().join("target/dist");
    if dist.is_dir() {
        fs::remove_dir_all(&dist)?;
    }
    let binary = built(TRIPLE)?;
    let stage = staged(&binary, &binary, TRIPLE, &dist)?;
    // cargo-deb has fixed paths.
    std::os::unix::fs::symlink(
        stage.file_name().context("a stage has a name")?,
        dist.join("stage"),
    )?;
    let package = debian_package(&dist)?;
    let mut files = vec![binary.clone(), packed(&stage, &dist)?, package.clone()];
    if with_arm {
        let arm = built(ARM)?;
        files.push(packed(&staged(&arm, &binary, ARM, &dist)?, &dist)?);
        println!("lab: the binary for {ARM} was built, and never run");
    }
    for file in files {
        let mib = file.metadata()?.len() as f64 / f64::from(1 << 20);
        println!("lab: {} {mib:.1} MiB", file.display());
    }
    if is_tried {
        for suite in SUITES {
            tried_in(suite, &package)?;
        }
    }
    Ok(0)
}

fn built(triple: &str) -> Result<PathBuf> {
    let zigbuild = cargo_tools::ensure("cargo-zigbuild", ZIGBUILD)?;
    let target_and_glibc = format!("{triple}.2.{GLIBC}");
    let mut build = Command::new(zigbuild);
    build.args(["zigbuild", "--release", "--package", "hopcost", "--target", &target_and_glibc]);
    build.env("CARGO_ZIGBUILD_ZIG_PATH", zig()?).current_dir(project());
    command::run(&mut build)?;
    let binary = target().join(triple).join("release/hopcost");
    let newest = newest_glibc(&binary)?;
    ensure!(newest <= GLIBC, "the binary needs glibc 2.{newest}, and 2.{GLIBC} is the limit");
    println!("lab: the binary for {triple} needs glibc 2.{newest}");
    Ok(binary)
}

/// From the Python package index, which is where Zig's own builds are packaged.
fn zig() -> Result<PathBuf> {
    let dir = kept(&format!("zig/{ZIG}"), "ziglang", |work| {
        println!("lab: fetching Zig {ZIG}");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
        command::run(pip.arg(work).arg(format!("ziglang=={ZIG}")))?;
        Ok(work.join("ziglang"))
    })?;
    Ok(dir.join("zig"))
}

/// The newest version of glibc whose symbols a binary needs.
fn newest_glibc(binary: &Path) -> Result<u32> {
    let symbols = command::output(Command::new("objdump").arg("-T").arg(binary))?;
    newest_in(&symbols).context("objdump shows no symbol of glibc")
}

fn newest_in(symbols: &str) -> Option<u32> {
    let minor = |word: &str| -> Option<u32> {
        let version = word.trim_matches(['(', ')']).strip_prefix("GLIBC_2.")?;
        version.split('.').next()?.parse().ok()
    };
    symbols.split_whitespace().filter_map(minor).max()
}

/// What is in the tarball, and from where cargo-deb takes it. `here` is hopcost for this machine.
fn staged(binary: &Path, here: &Path, triple: &str, dist: &Path) -> Result<PathBuf> {
    let version = command::output(Command::new(here).arg("--version"))?;
    let version = version.split_whitespace().nth(1).context("hopcost tells no version")?;
    let name = format!("hopcost-{version}-{triple}");
    let stage = dist.join(&name);
    for dir in ["man", "completions"] {
        fs::create_dir_all(stage.join(dir))?;
    }
    fs::copy(binary, stage.join("hopcost"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(project().join(file), stage.join(file))?;
    }
    command::run(Command::new(here).arg("man").arg(stage.join("man")))?;
    for (shell, file) in SHELLS {
        let completions = command::output(Command::new(here).args(["completions", shell]))?;
        fs::write(stage.join("completions").join(file), completions)?;
    }
    Ok(stage)
}

fn packed(stage: &Path, dist: &Path) -> Result<PathBuf> {
    let name = stage.file_name().and_then(|name| name.to_str()).context("a stage has a name")?;
    let tarball = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    command::run(tar.args(["--file", &tarball, name]).current_dir(dist))?;
    let sum = command::output(Command::new("sha256sum").arg(&tarball).current_dir(dist))?;
    fs::write(dist.join(format!("{tarball}.sha256")), sum)?;
    Ok(dist.join(tarball))
}

fn debian_package(dist: &Path) -> Result<PathBuf> {
    let cargo_deb = cargo_tools::ensure("cargo-deb", CARGO_DEB)?;
    let mut pack = Command::new(cargo_deb);
    pack.args(["--no-build", "--no-strip", "--package", "hopcost", "--target", TRIPLE]);
    let file = command::output(pack.arg("--output").arg(dist).current_dir(project()))?;
    Ok(PathBuf::from(file.trim()))
}

/// Installs the package in a root tree, surveys there for 30 s, and removes both.
fn tried_in(suite: &str, package: &Path) -> Result<()> {
    if !command::exists("mmdebstrap") {
        bail!("mmdebstrap is missing: install it (apt install mmdebstrap), or leave out --try");
    }
    let tree = tempfile::tempdir()?;
    let root = tree.path();
    println!("lab: making a root tree of {suite}");
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--variant=essential", suite]).arg(root);
    command::run(&mut make)?;
    fs::copy(package, root.join("hopcost.deb"))?;
    let within = |script: &str| {
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--pid", "--fork", "sh", "-c"]);
        let mounts = "mount -t proc proc \"$0/proc\" && mount --rbind /sys \"$0/sys\"";
        let whole = format!("{mounts} && exec chroot \"$0\" sh -c '{script}'");
        command::output(inside.arg(whole).arg(root))
    };
    within("dpkg --install /hopcost.deb && ldd --version && hopcost --version")?;
    let said = within("cd /tmp && hopcost survey --budget 30s --allow-load")?;
    ensure!(said.contains("Page"), "{suite}: the survey wrote no page: {said}");
    ensure!(root.join("tmp/hopcost.html").metadata()?.len() > 0, "{suite}: the page is empty");
    println!("lab: {suite}: installed, surveyed, and wrote a page");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_that_of_its_number() {
        let symbols = "0 DF *UND* 0 (GLIBC_2.2.5) read\n0 DF *UND* 0 GLIBC_2.28 fcntl64\n\
                       0 DF *UND* 0 (GLIBC_2.14) memcpy\n0 DF *UND* 0 (GCC_3.0) _Unwind_Resume";
        assert_eq!(newest_in(symbols), Some(28));
        assert_eq!(newest_in("nothing"), None);
    }
}
