//! Servers for tests from a newer Debian suite, unpacked and never installed.
//!
//! Method: apt resolves and verifies the packages. The programs and their libraries are cached as
//! an image below cargo's target directory. The suite's C library is newer than the system's, so
//! each program is replaced by a script that starts it with the image's loader. The loader is named
//! like the program, because the kernel names the process after it. Limits: an image has the
//! package versions of its day, listed in its file `packages`. x86-64 only.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::apt::{self, Apt};
use crate::kept::kept;
use crate::{command, test};

pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
pub const LOADER: &str = "ld-linux-x86-64.so.2";

pub struct Newer {
    pub name: &'static str,
    pub dir: &'static str,
    pub suite: &'static str,
    /// The first is the one whose libraries are needed.
    pub packages: &'static [&'static str],
    /// Copies what tests need from the unpacked packages into the image.
    pub keep: fn(&Path, &Path) -> Result<()>,
}

impl Newer {
    pub fn image(&self) -> Result<PathBuf> {
        let root = kept(self.dir, "image", |work| {
            println!("xtask: fetching {} from Debian's {}", self.name, self.suite);
            self.fetch(work)?;
            let (unpacked, image) = (work.join("unpacked"), work.join("image"));
            let packages = apt::unpack(work, &unpacked)?;
            (self.keep)(&unpacked, &image)?;
            fs::write(image.join("packages"), packages.join("\n") + "\n")?;
            Ok(image)
        });
        let root = root.with_context(|| format!("{} for tests", self.name))?;
        // The version changes over time, so the end of a run reports it.
        let packages = fs::read_to_string(root.join("packages"))?;
        let mut packages = packages.lines().filter(|file| file.starts_with(self.packages[0]));
        println!("tried on {}: {}", self.name, packages.next().unwrap_or("of no known version"));
        within_reach(&root, &std::env::temp_dir().join(self.dir))
    }

    fn fetch(&self, into: &Path) -> Result<()> {
        let apt = Apt::for_suite(self.suite, into)?;
        let depends = command::output(apt.command("apt-cache").args([
            "depends",
            "--recurse",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            self.packages[0],
        ]))?;
        let is_loaded = |name: &str| {
            (name.starts_with("lib") && !name.contains("perl")) || name.starts_with("zlib")
        };
        let names =
            depends.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        let mut wanted: Vec<&str> = names.filter(|name| is_loaded(name)).collect();
        wanted.extend(self.packages);
        wanted.sort_unstable();
        wanted.dedup();
        apt.download(&wanted, into)
    }
}

static MOUNTING: Mutex<()> = Mutex::new(());

/// Server users may not be allowed to enter the project's home directory. In a test's own mount
/// namespace the image is mounted outside of it.
fn within_reach(root: &Path, place: &Path) -> Result<PathBuf> {
    if std::env::var_os(test::MOUNTS).is_none() {
        return Ok(root.to_owned());
    }
    let _one_at_a_time = MOUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    if !place.is_dir() {
        fs::create_dir(place)?;
        command::run(Command::new("mount").arg("--bind").arg(root).arg(place))?;
    }
    Ok(place.to_owned())
}

/// Keeps a program and its start script below `home`, which has `bin`, `programs` and `loaders`;
/// `up` leads from there to the libraries.
pub fn keep_program(from: &Path, home: &Path, up: &str, front: &str) -> Result<PathBuf> {
    let name = from.file_name().context("a program without a name")?;
    let place = home.join("programs").join(name);
    fs::copy(from, &place)?;
    symlink(Path::new(up).join(LOADER), home.join("loaders").join(name))?;
    let script = home.join("bin").join(name);
    fs::write(&script, front)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(place)
}

pub fn keep_libraries(from: &Path, to: &Path, of: &[PathBuf]) -> Result<()> {
    fs::copy(from.join(LIBRARIES).join(LOADER), to.join(LIBRARIES).join(LOADER))?;
    for file in of {
        for library in loaded(from, file)? {
            let name = library.file_name().context("a library without a name")?;
            fs::copy(&library, to.join(LIBRARIES).join(name))?;
        }
    }
    Ok(())
}

pub fn directories(to: &Path, home: &Path) -> Result<()> {
    let libraries = to.join(LIBRARIES);
    for dir in [&home.join("bin"), &home.join("programs"), &home.join("loaders"), &libraries] {
        fs::create_dir_all(dir)?;
    }
    Ok(())
}

pub fn keep_directory(from: &Path, to: &Path, what: &str) -> Result<()> {
    let parent = to.join(what).parent().map(Path::to_owned).context("no directory")?;
    fs::create_dir_all(&parent)?;
    command::run(Command::new("cp").arg("-a").arg(from.join(what)).arg(parent))
}

/// Fails if one is not below `root`: another system's library would not fit.
pub fn loaded(root: &Path, file: &Path) -> Result<Vec<PathBuf>> {
    let libraries = root.join(LIBRARIES);
    let mut list = Command::new(libraries.join(LOADER));
    list.arg("--library-path").arg(&libraries).arg("--list").arg(file);
    let said = command::output(&mut list)?;
    let paths = said.lines().filter_map(|line| {
        let (name, path) = line.split_once(" => ")?;
        let path = path.split(" (").next().unwrap_or(path);
        (!name.trim().ends_with(LOADER)).then(|| PathBuf::from(path.trim()))
    });
    let paths: Vec<PathBuf> = paths.collect();
    if let Some(foreign) = paths.iter().find(|path| !path.starts_with(root)) {
        bail!(
            "{} loads {}, which no package of its suite brought",
            file.display(),
            foreign.display()
        );
    }
    Ok(paths)
}
