//! Servers for tests that the system does not have: Debian's packages from a newer suite, unpacked and never
//! installed.
//!
//! Method: apt, with lists of its own that bear the archive's signature, says which packages a server
//! needs; they are unpacked, and what its programs load is kept as an image below cargo's target directory, where
//! the next run finds it again. The suite's C library is newer than the system's, so that in front of each program
//! stands a script of its name which starts it by the image's own loader. The loader goes by the program's name,
//! too: the kernel calls the process after it. The image may lie anywhere, in an emulated machine as well.
//!
//! Limits: the archive keeps one version of a package, so that a new image has the version of its day;
//! the file `packages` in it names all of them. x86-64 alone, as the emulated machines.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::apt::{self, Apt};
use crate::kept::kept;
use crate::{command, test};

/// Where a package's libraries are, and an image's.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
pub const LOADER: &str = "ld-linux-x86-64.so.2";

pub struct Newer {
    /// Its name, for who waits.
    pub name: &'static str,
    /// The directory of its image, below cargo's target directory.
    pub dir: &'static str,
    pub suite: &'static str,
    /// Its packages, the one whose libraries are needed first.
    pub packages: &'static [&'static str],
    /// Keeps what tests need of the packages that are unpacked here, there.
    pub keep: fn(&Path, &Path) -> Result<()>,
}

impl Newer {
    /// The image of an earlier run, or one made now.
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
        // The archive has the version of its day: which one it was is said at the end of a run.
        let packages = fs::read_to_string(root.join("packages"))?;
        let mut packages = packages.lines().filter(|file| file.starts_with(self.packages[0]));
        println!("tried on {}: {}", self.name, packages.next().unwrap_or("of no known version"));
        within_reach(&root, &std::env::temp_dir().join(self.dir))
    }

    /// Fetches the server's packages, and those with the libraries it may load.
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

/// Several tests of a process share its mounts.
static MOUNTING: Mutex<()> = Mutex::new(());

/// Servers run as users who may not enter the home that the project may be in: where the mounts are a test's own, the
/// image is mounted in front of it.
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

/// Keeps a program, with the script in front of it, in a directory of the image that has `bin`, `programs` and
/// `loaders`; the libraries are `up` from there.
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

/// Keeps the libraries that files load, and the loader.
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

/// Makes the directories of an image, programs at `home` in it.
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

/// The libraries that a file loads, all of them below `root`: another system's would not fit.
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
