//! PostgreSQL 18 for tests, beside the system's own: Debian's packages from a newer suite, unpacked and
//! never installed.
//!
//! Method: apt, with lists of its own that bear the archive's signature, says which packages the server
//! needs; they are unpacked, and what its programs load is kept as an image of some 110 MB below cargo's
//! target directory, where the next run finds it again. The suite's C library is newer than the system's,
//! so that in front of each program stands a script of its name which starts it by the image's own loader.
//! The loader goes by the program's name, too: the kernel calls the process after it. The image may lie
//! anywhere, in an emulated machine as well.
//!
//! Limits: the archive keeps one version of a package, so that a new image has the version of its day;
//! the file `packages` in it names all of them. x86-64 alone, as the emulated machines.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::apt::Apt;
use crate::{command, target};

/// The suite after trixie; the package is in unstable, too, and in no backports.
const SUITE: &str = "forky";
const SERVER: &str = "postgresql-18";
const CLIENT: &str = "postgresql-client-18";
/// Programs that tests ask for.
const PROGRAMS: [&str; 6] = ["postgres", "initdb", "pg_ctl", "psql", "pg_dump", "pgbench"];
/// What an emulated machine needs of the server's own modules.
const MODULES: [&str; 2] = ["pg_prewarm", "pg_buffercache"];
const HOME: &str = "usr/lib/postgresql/18";
const SHARE: &str = "usr/share/postgresql/18";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Stands in front of each program, and is called as it.
const FRONT: &str = r#"#!/bin/sh
bin=${0%/*} name=${0##*/}
home=${bin%/bin}
libraries=${home%/postgresql/18}/x86_64-linux-gnu
exec "$home/loaders/$name" --library-path "$libraries" --argv0 "$0" "$home/programs/$name" "$@"
"#;

/// An image that is there.
#[derive(Clone, Debug)]
pub struct NewerPostgres {
    root: PathBuf,
    /// Such as `18.6`.
    pub version: String,
}

impl NewerPostgres {
    /// The directory of its programs, within the image.
    pub const PROGRAMS: &str = "usr/lib/postgresql/18/bin";

    /// The image of an earlier run, or one made now.
    pub fn ensure() -> Result<Self> {
        let dir = target().join("newer-postgres");
        let root = dir.join("image");
        fs::create_dir_all(&dir)?;
        let lock = File::create(dir.join("lock"))?;
        lock.lock()?;
        if !root.is_dir() {
            println!("xtask: fetching PostgreSQL 18 from Debian's {SUITE}");
            let part = dir.join("part");
            make(&dir, &part).context("PostgreSQL 18 for tests")?;
            fs::rename(part, &root)?;
        }
        let version = version(&root.join(HOME).join("bin/postgres"))?;
        Ok(Self { root: root.canonicalize()?, version })
    }

    /// The directory of its programs.
    pub fn programs(&self) -> PathBuf {
        self.root.join(HOME).join("bin")
    }

    /// Writes what a server needs in an emulated machine, where its data is ready, as a tar.
    pub fn pack(&self, archive: &Path) -> Result<()> {
        let programs = ["postgres", "initdb"].map(|name| format!("{HOME}/bin/{name}"));
        let mut files = vec![format!("{HOME}/programs/postgres"), format!("{HOME}/loaders")];
        files.extend(programs);
        files.push(format!("{SHARE}/timezonesets"));
        files.push(format!("{SHARE}/extension"));
        files.push(format!("{LIBRARIES}/{LOADER}"));
        let modules = MODULES.map(|module| format!("{HOME}/lib/{module}.so"));
        let loaded = loaded(&self.root, &self.root.join(HOME).join("programs/postgres"))?;
        for library in loaded {
            let inside = library.strip_prefix(&self.root)?;
            files.push(inside.display().to_string());
        }
        files.extend(modules);
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(&self.root).arg("-chf").arg(archive).args(files);
        command::run(&mut tar)
    }
}

/// `postgres (PostgreSQL) 18.6 (Debian 18.6-3)`, of the user who may least.
fn version(program: &Path) -> Result<String> {
    let mut ask = Command::new("setpriv");
    ask.args(["--reuid", "nobody", "--clear-groups"]).arg(program).arg("--version");
    let said = if hopcost_sys::is_root() {
        command::output(&mut ask)
            .context("PostgreSQL's user has to reach cargo's target directory")?
    } else {
        command::output(Command::new(program).arg("--version"))?
    };
    let version = said.split_whitespace().nth(2).context("a server without a version")?;
    ensure!(version.starts_with("18"), "{} says it is {version}", program.display());
    Ok(version.to_owned())
}

/// Fetches, unpacks and leaves out.
fn make(dir: &Path, part: &Path) -> Result<()> {
    let (packages, unpacked) = (dir.join("packages"), dir.join("unpacked"));
    for left in [&packages, &unpacked, &part.to_owned()] {
        if left.is_dir() {
            fs::remove_dir_all(left)?;
        }
    }
    fs::create_dir_all(&packages)?;
    let names = fetch(dir, &packages)?;
    for name in &names {
        let deb = packages.join(name);
        command::run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&unpacked))?;
    }
    keep(&unpacked, part)?;
    fs::write(part.join("packages"), names.join("\n") + "\n")?;
    for done in [packages, unpacked, dir.join("apt")] {
        fs::remove_dir_all(done)?;
    }
    Ok(())
}

/// The server's packages and those with the libraries it may load: their files' names.
fn fetch(dir: &Path, into: &Path) -> Result<Vec<String>> {
    let apt = Apt::for_suite(SUITE, dir)?;
    let depends = command::output(apt.command("apt-cache").args([
        "depends",
        "--recurse",
        "--no-recommends",
        "--no-suggests",
        "--no-conflicts",
        "--no-breaks",
        "--no-replaces",
        "--no-enhances",
        SERVER,
    ]))?;
    let is_loaded = |name: &str| {
        (name.starts_with("lib") && !name.contains("perl")) || name.starts_with("zlib")
    };
    let names = depends.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let mut wanted: Vec<&str> = names.filter(|name| is_loaded(name)).collect();
    wanted.extend([SERVER, CLIENT]);
    wanted.sort_unstable();
    wanted.dedup();
    command::output(
        apt.command("apt-get").args(["download", "-q"]).args(wanted).current_dir(into),
    )?;
    let files = into.read_dir()?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let files: Result<Vec<Option<String>>> = files.collect();
    let mut files: Vec<String> = files?.into_iter().flatten().collect();
    files.sort();
    Ok(files)
}

/// Keeps the programs, the server's own modules and files, and the libraries that these load.
fn keep(from: &Path, to: &Path) -> Result<()> {
    let (home, libraries) = (to.join(HOME), to.join(LIBRARIES));
    for dir in [&home.join("bin"), &home.join("programs"), &home.join("loaders"), &libraries] {
        fs::create_dir_all(dir)?;
    }
    fs::copy(from.join(LIBRARIES).join(LOADER), libraries.join(LOADER))?;
    let copy = |what: &str| -> Result<()> {
        let parent = to.join(what).parent().map(Path::to_owned).context("no directory")?;
        fs::create_dir_all(&parent)?;
        command::run(Command::new("cp").arg("-a").arg(from.join(what)).arg(parent))
    };
    copy(SHARE)?;
    copy(&format!("{HOME}/lib"))?;
    let mut loading = Vec::new();
    for program in PROGRAMS {
        let place = home.join("programs").join(program);
        fs::copy(from.join(HOME).join("bin").join(program), &place)?;
        symlink(
            Path::new("../../../x86_64-linux-gnu").join(LOADER),
            home.join("loaders").join(program),
        )?;
        let front = home.join("bin").join(program);
        fs::write(&front, FRONT)?;
        fs::set_permissions(&front, fs::Permissions::from_mode(0o755))?;
        loading.push(place);
    }
    // Replication, and the server's views of itself.
    for module in MODULES.into_iter().chain(["libpqwalreceiver", "plpgsql", "dict_snowball"]) {
        loading.push(home.join("lib").join(module).with_extension("so"));
    }
    for file in loading {
        for library in loaded(from, &file)? {
            let name = library.file_name().context("a library without a name")?;
            fs::copy(&library, libraries.join(name))?;
        }
    }
    Ok(())
}

/// The libraries that a file loads, all of them below `root`: another system's would not fit.
fn loaded(root: &Path, file: &Path) -> Result<Vec<PathBuf>> {
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
            "{} loads {}, which no package of {SUITE} brought",
            file.display(),
            foreign.display()
        );
    }
    Ok(paths)
}
