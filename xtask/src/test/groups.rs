//! Groups of tests that run only when certain files change.
//!
//! A test belongs to a group if its path in its binary starts with a module of the group's name
//! (`-` as `_`). Every other test belongs to the first tier, which always runs.
//!
//! A group must run again if its test binaries' files change, or a file below one of its paths, or
//! a file that nothing here names.

pub type Binary = (&'static str, &'static str);

#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    pub binaries: &'static [Binary],
    /// Prefixes of the paths whose change calls for the group.
    pub paths: &'static [&'static str],
}

const SERVERS: Binary = ("hopcost", "servers");
const ALONE: Binary = ("hopcost", "alone");
const TARGETS: Binary = ("hopcost-engines", "targets");
const GUESTS: Binary = ("xtask", "guests");
const NEWER: Binary = ("xtask", "newer");
const ENGINES: Binary = ("xtask", "engines");
const RELEASE: Binary = ("xtask", "release");
const DEPENDENCIES: Binary = ("xtask", "dependencies");

const SERVER: &str = "crates/engines/src/server/";
const POSTGRES: &str = "crates/engines/src/postgres/";
const MYSQL: &str = "crates/engines/src/mysql/";
const HOSTED: &str = "crates/engines/src/hosted/";
const DUCKDB: &str = "crates/engines/src/duckdb/";
const SQLITE: &str = "crates/engines/src/sqlite/";
const SQLSERVER: &str = "crates/engines/src/sqlserver/";
const TARGETS_FILES: &str = "crates/engines/src/";
const DATASETS: &str = "crates/data/src/datasets/";
const WORKLOADS: &str = "crates/data/src/workloads/";
const PGBENCH: &str = "crates/pgbench/src/";
const PROBES: &str = "crates/host/src/probes/";
const EXPERIMENTS: &str = "experiments/";
const CORE: &str = "crates/core/";
const METHOD: &str = "crates/method/src/";
const DRIVE: &str = "crates/drive/src/";
const APP: &str = "crates/app/";
const STORE: &str = "crates/store/";
const SYS: &str = "crates/sys/";
const CLI: &str = "crates/cli/src/";
const RECIPES: &[&str] = &["advice/", "crates/data/src/advice.rs", "crates/method/src/advice.rs"];
/// Shared with the tests that need the machine alone.
const SERVERS_FILES: &str = "crates/cli/tests/servers/";

const fn group(
    name: &'static str,
    binaries: &'static [Binary],
    paths: &'static [&'static str],
) -> Group {
    Group { name, binaries, paths }
}

/// In the order in which they run.
pub const GROUPS: &[Group] = &[
    group("release", &[RELEASE], &["Cargo.", "rust-toolchain.toml", SYS]),
    group("dependencies", &[DEPENDENCIES], &["Cargo.", "deny.toml"]),
    group("guest-shapes", &[GUESTS], &["crates/sys/src/topology", CORE, PROBES]),
    group("guest-limits", &[GUESTS], &[SYS, PROBES]),
    group("guest-sqlite", &[GUESTS], &[SQLITE, "crates/sys/src/memory", METHOD, DRIVE]),
    group("guest-postgres", &[GUESTS], &[POSTGRES, SERVER]),
    group("guest-duckdb", &[GUESTS], &[DUCKDB, HOSTED]),
    group("everything", &[SERVERS], &[EXPERIMENTS, "crates/data/src/experiments.rs", APP, CLI]),
    group("survey", &[ALONE], &[EXPERIMENTS, "crates/method/src/survey", APP, CLI, SERVERS_FILES]),
    group("guides", &[SERVERS], &["docs/guide/", CLI, APP]),
    group("faults-postgres", &[SERVERS], &[POSTGRES, SERVER, "crates/drive/src/pool", SYS]),
    group("faults-mariadb", &[SERVERS], &[MYSQL, SERVER]),
    group("postgres-rest", &[SERVERS, TARGETS], &[POSTGRES, SERVER, PGBENCH]),
    group("mariadb-rest", &[TARGETS], &[MYSQL, SERVER]),
    group("mysql-9", &[NEWER], &[MYSQL]),
    group("postgres-18", &[NEWER], &[POSTGRES]),
    group("server-audit", &[NEWER], &["crates/engines/src/mysql/audit.rs"]),
    group("kerberos", &[NEWER], &["crates/engines/src/server/ffi/"]),
    group("recipes", &[SERVERS, GUESTS, NEWER], RECIPES),
    group("same-answers", &[ENGINES], &[DATASETS, WORKLOADS]),
    group("duckdb-rest", &[ENGINES], &[DUCKDB, HOSTED, DATASETS, WORKLOADS]),
    group("cli-rest", &[SERVERS, ALONE], &[CLI, APP, STORE, METHOD, DRIVE]),
];

/// Changes that call for no group: the first tier has all of their tests, or there are none.
const IN_FIRST_TIER: &[&str] = &[
    ".ci/verified",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "crates/data/src/published.rs",
    "crates/drive/tests/",
    "crates/host/src/checks/",
    "crates/host/src/observers/",
    "crates/host/src/occupancy/",
    "crates/host/src/server_placement/",
    "crates/method/tests/",
    "crates/stats/",
    "crates/view/",
    "docs/",
    "fixtures/",
    "lab/",
    "published/",
    "rustfmt.toml",
    SQLSERVER,
    TARGETS_FILES,
];

const TESTS: &[(&str, &str)] = &[
    ("hopcost", "crates/cli/tests/"),
    ("hopcost-engines", "crates/engines/tests/"),
    ("xtask", "xtask/tests/"),
];

impl Group {
    pub fn module(&self) -> String {
        format!("{}::", self.name.replace('-', "_"))
    }

    pub fn is_called_for_by(&self, path: &str) -> bool {
        self.names(path) || !is_named(path)
    }

    fn has(&self, (package, target): (&str, &str)) -> bool {
        let is_it = |of: &Binary| of.0 == package && of.1 == target;
        self.binaries.iter().any(is_it)
    }

    fn names(&self, path: &str) -> bool {
        let begins = |beginning: &&str| path.starts_with(beginning);
        self.paths.iter().any(begins)
            || self
                .binaries
                .iter()
                .filter_map(tests_of)
                .filter_map(|tests| path.strip_prefix(&tests))
                .any(|rest| rest.starts_with(['/', '.']))
    }
}

fn tests_of((package, target): &Binary) -> Option<String> {
    TESTS.iter().find(|(of, _)| of == package).map(|(_, dir)| format!("{dir}{target}"))
}

fn is_named(path: &str) -> bool {
    IN_FIRST_TIER.iter().any(|beginning| path.starts_with(beginning))
        || GROUPS.iter().any(|group| group.names(path))
}

/// `None` for the first tier.
pub fn of_test(binary: (&str, &str), test: &str) -> Option<&'static Group> {
    let is_in = |group: &&Group| group.has(binary);
    GROUPS.iter().find(|group| is_in(group) && test.starts_with(&group.module()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::project;

    #[test]
    fn a_change_calls_for_its_groups_and_an_unknown_one_for_all() {
        let called = |path: &str| -> Vec<&str> {
            let is_called = |group: &&Group| group.is_called_for_by(path);
            GROUPS.iter().filter(is_called).map(|group| group.name).collect()
        };
        assert_eq!(called("docs/reference/json.md"), [""; 0]);
        assert_eq!(called("crates/stats/src/lib.rs"), [""; 0]);
        let of_mysql = ["faults-mariadb", "mariadb-rest", "mysql-9"];
        assert_eq!(called("crates/engines/src/mysql/wire.rs"), of_mysql);
        assert_eq!(
            called("crates/engines/tests/targets/main.rs"),
            ["postgres-rest", "mariadb-rest"]
        );
        let of_guests =
            ["guest-shapes", "guest-limits", "guest-sqlite", "guest-postgres", "guest-duckdb"];
        let of_guests = [&of_guests[..], &["recipes"]].concat();
        assert_eq!(called("xtask/tests/guests/session.rs"), of_guests);
        assert_eq!(called("advice/smt-off.toml"), ["recipes"]);
        assert_eq!(called("xtask/tests/release.rs"), ["release"]);
        for path in [".ci/run", "crates/testkit/src/disk.rs", "xtask/src/vm/mod.rs", "new"] {
            assert_eq!(called(path).len(), GROUPS.len(), "{path}");
        }
    }

    #[test]
    fn every_path_is_there() {
        let all = GROUPS.iter().flat_map(|group| group.paths).chain(IN_FIRST_TIER);
        for path in all.chain(TESTS.iter().map(|(_, dir)| dir)) {
            let parent = Path::new(path).parent().unwrap_or(Path::new(""));
            let entries = project().join(parent).read_dir().unwrap();
            let mut paths = entries.map(|entry| parent.join(entry.unwrap().file_name()));
            let begins = |found: std::path::PathBuf| {
                found.to_string_lossy().starts_with(path.trim_end_matches('/'))
            };
            assert!(paths.any(begins) || *path == ".ci/verified", "nothing begins as {path}");
        }
    }

    /// A module with a group's name in a binary without groups would silently be in the first tier.
    #[test]
    fn modules_with_the_names_of_groups_are_groups() {
        let named =
            |module: &str| GROUPS.iter().find(|group| group.name.replace('-', "_") == module);
        for (package, dir) in TESTS {
            for entry in project().join(dir).read_dir().unwrap() {
                let path = entry.unwrap().path();
                let target = path.file_stem().unwrap().to_string_lossy().into_owned();
                let main = if path.is_dir() { path.join("main.rs") } else { path };
                let text = std::fs::read_to_string(&main).unwrap_or_default();
                let modules = text.lines().filter_map(|line| line.strip_prefix("mod "));
                for module in modules.filter_map(|rest| rest.split([';', ' ']).next()) {
                    let is_known = named(module)
                        .is_none_or(|group| group.binaries.contains(&(*package, leaked(&target))));
                    assert!(is_known, "{}: {module}", main.display());
                }
            }
        }
    }

    fn leaked(text: &str) -> &'static str {
        text.to_owned().leak()
    }
}
