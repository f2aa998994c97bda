//! PostgreSQL 18 for tests, beside the system's version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::newer::{self, LIBRARIES, LOADER, Newer, loaded};

/// The suite after trixie; the package is in unstable, too, and in no backports.
const POSTGRES: Newer = Newer {
    name: "PostgreSQL 18",
    dir: "newer-postgres",
    suite: "forky",
    packages: &["postgresql-18", "postgresql-client-18"],
    keep,
};
const PROGRAMS: [&str; 6] = ["postgres", "initdb", "pg_ctl", "psql", "pg_dump", "pgbench"];
const MODULES: [&str; 2] = ["pg_prewarm", "pg_buffercache"];
const HOME: &str = "usr/lib/postgresql/18";
const SHARE: &str = "usr/share/postgresql/18";

/// The start script, under each program's name.
const FRONT: &str = r#"#!/bin/sh
bin=${0%/*} name=${0##*/}
home=${bin%/bin}
libraries=${home%/postgresql/18}/x86_64-linux-gnu
exec "$home/loaders/$name" --library-path "$libraries" --argv0 "$0" "$home/programs/$name" "$@"
"#;

#[derive(Clone, Debug)]
pub struct NewerPostgres {
    root: PathBuf,
    pub version: String,
}

impl NewerPostgres {
    pub const PROGRAMS: &str = "usr/lib/postgresql/18/bin";

    pub fn ensure() -> Result<Self> {
        let root = POSTGRES.image()?;
        let version = version(&root.join(HOME).join("bin/postgres"))?;
        Ok(Self { root, version })
    }

    pub fn programs(&self) -> PathBuf {
        self.root.join(HOME).join("bin")
    }

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

/// Parses `postgres (PostgreSQL) 18.6 (Debian 18.6-3)`; runs as nobody.
fn version(program: &Path) -> Result<String> {
    let mut ask = Command::new("setpriv");
    ask.args(["--reuid", "nobody", "--clear-groups"]).arg(program).arg("--version");
    let said = if crate::is_root() {
        command::output(&mut ask)
            .context("PostgreSQL's user has to reach cargo's target directory")?
    } else {
        command::output(Command::new(program).arg("--version"))?
    };
    let version = said.split_whitespace().nth(2).context("a server without a version")?;
    ensure!(version.starts_with("18"), "{} says it is {version}", program.display());
    Ok(version.to_owned())
}

fn keep(from: &Path, to: &Path) -> Result<()> {
    let home = to.join(HOME);
    newer::directories(to, &home)?;
    newer::keep_directory(from, to, SHARE)?;
    newer::keep_directory(from, to, &format!("{HOME}/lib"))?;
    let programs = PROGRAMS.iter().map(|program| from.join(HOME).join("bin").join(program));
    let up = "../../../x86_64-linux-gnu";
    let programs = programs.map(|program| newer::keep_program(&program, &home, up, FRONT));
    let mut loading = programs.collect::<Result<Vec<PathBuf>>>()?;
    // For replication and the statistics views.
    for module in MODULES.into_iter().chain(["libpqwalreceiver", "plpgsql", "dict_snowball"]) {
        loading.push(home.join("lib").join(module).with_extension("so"));
    }
    newer::keep_libraries(from, to, &loading)
}
