//! MySQL 9 for tests, which Debian's stable suites lack.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::newer::{self, Newer};

/// Only unstable has it.
const MYSQL: Newer = Newer {
    name: "MySQL 9",
    dir: "newer-mysql",
    suite: "sid",
    packages: &["mysql-server-core"],
    keep,
};
const HOME: &str = "usr/lib/mysql";
const SHARE: &str = "usr/share/mysql";

/// The start script, under the server's name. An option to ignore option files must come first.
const FRONT: &str = r#"#!/bin/sh
bin=${0%/*} name=${0##*/} first=${1:---no-defaults}
[ $# -gt 0 ] && shift
home=${bin%/bin}
libraries=${home%/mysql}/x86_64-linux-gnu share=${home%/lib/mysql}/share/mysql
exec "$home/loaders/$name" --library-path "$libraries" --argv0 "$0" "$home/programs/$name" "$first" \
    "--lc-messages-dir=$share" "--character-sets-dir=$share/charsets" "$@"
"#;

pub fn programs() -> Result<PathBuf> {
    Ok(MYSQL.image()?.join(HOME).join("bin"))
}

fn keep(from: &Path, to: &Path) -> Result<()> {
    let home = to.join(HOME);
    newer::directories(to, &home)?;
    newer::keep_directory(from, to, SHARE)?;
    let server = from.join("usr/sbin/mysqld");
    let server = newer::keep_program(&server, &home, "../../x86_64-linux-gnu", FRONT)?;
    newer::keep_libraries(from, to, &[server])
}
