//! Database servers among the processes: kind, sessions, CPU use.
//!
//! Method: a server is the topmost process with a known name, with its descendants. Sessions are
//! counted from process titles (PostgreSQL, Oracle) or as connections to its sockets. It connects
//! to no server, so the version is known only if the data directory or the command line shows it.

use std::collections::BTreeSet;
use std::fmt;

use hopcost_core::{Code, Known};
use hopcost_sys::Root;
use hopcost_sys::processes::{self, Processes};
use hopcost_sys::sockets::{self, Doors};
use hopcost_sys::titles;
use serde::Serialize;

#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// Linux cuts names at 15 characters. A trailing `*` matches any continuation.
    pub(super) processes: &'static [&'static str],
    /// What the title must contain if the process name is a language's: `java`.
    pub(super) title: &'static str,
    sessions: Sessions,
    version: fn(&Root, u32) -> Known<String>,
}

#[derive(Debug)]
enum Sessions {
    Titles(fn(&str) -> bool),
    Sockets(Doors),
}

/// A kind whose sessions are connections, and whose version is unknown.
const fn with_doors(
    name: &'static str,
    processes: &'static [&'static str],
    ports: &'static [u16],
    path: &'static str,
) -> Kind {
    let sessions = Sessions::Sockets(Doors { ports, path });
    Kind { name, processes, title: "", sessions, version: untold }
}

const fn in_java(name: &'static str, title: &'static str, ports: &'static [u16]) -> Kind {
    Kind { title, ..with_doors(name, &["java"], ports, "") }
}

pub const KINDS: &[Kind] = &[
    Kind {
        version: version_of_postgresql,
        sessions: Sessions::Titles(titles::is_postgresql_session),
        ..with_doors("PostgreSQL", &["postgres", "postmaster", "edb-postgres"], &[], "")
    },
    Kind { version: version_of_mariadb, ..with_doors("MariaDB", &["mariadbd"], &[3306], "mysqld") },
    with_doors("MySQL", &["mysqld", "mysqld-debug"], &[3306, 33060], "mysql"),
    with_doors("SQL Server", &["sqlservr"], &[1433], ""),
    Kind {
        sessions: Sessions::Titles(is_oracle_session),
        ..with_doors("Oracle", &["ora_*", "oracle", "oracle_*", "db_pmon_*"], &[], "")
    },
    with_doors("Db2", &["db2sysc"], &[50000, 25000], ""),
    with_doors("MongoDB", &["mongod", "mongos"], &[27017], "mongodb-"),
    with_doors("Redis", &["redis-server"], &[6379], "redis"),
    with_doors("Valkey", &["valkey-server"], &[6379], "valkey"),
    with_doors("memcached", &["memcached"], &[11211], "memcached"),
    with_doors("ClickHouse", &["clickhouse-serv"], &[8123, 9000, 9009], ""),
    with_doors("CockroachDB", &["cockroach"], &[26257], ".s.PGSQL"),
    with_doors("TiDB", &["tidb-server"], &[4000], "tidb"),
    with_doors("TiKV", &["tikv-server"], &[20160], ""),
    with_doors("YugabyteDB", &["yb-tserver"], &[9100, 9042], ""),
    with_doors("ScyllaDB", &["scylla"], &[9042], ""),
    with_doors("SAP HANA", &["hdbindexserver", "hdbnameserver"], &[], ""),
    with_doors("Firebird", &["firebird"], &[3050], ""),
    with_doors("Aerospike", &["asd"], &[3000], ""),
    with_doors("InfluxDB", &["influxd"], &[8086], ""),
    in_java("Cassandra", "org.apache.cassandra", &[9042]),
    in_java("Elasticsearch", "org.elasticsearch", &[9200]),
    in_java("OpenSearch", "org.opensearch", &[9200]),
    in_java("Neo4j", "org.neo4j", &[7474, 7687]),
];

#[derive(Debug)]
pub struct Found {
    pub kind: &'static Kind,
    /// Its topmost processes: several only if a kind's processes have no common ancestor.
    pub heads: BTreeSet<u32>,
    pub processes: BTreeSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    pub kind: &'static str,
    pub version: Known<String>,
    pub pid: u32,
    pub processes: usize,
    /// Replicas included.
    pub sessions: Known<usize>,
    /// In CPUs: 1.0 is one CPU all the time.
    pub cpus: f64,
    /// Without the pages of files.
    pub memory_bytes: Known<u64>,
}

/// In CPUs: a server without sessions uses less.
const HOUSEKEEPING_CPUS: f64 = 0.01;

pub fn find(root: &Root, all: &Processes) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for kind in KINDS {
        let is = |pid: u32| kind.is(root, all, pid);
        let members: BTreeSet<u32> =
            all.iter().map(|(pid, _)| pid).filter(|pid| is(*pid)).collect();
        let parent = |pid: u32| all.get(pid).map_or(0, |process| process.parent);
        let heads = members.iter().copied().filter(|pid| !members.contains(&parent(*pid)));
        let of_heads = |heads: BTreeSet<u32>| {
            let processes = all.trees(heads.iter().copied());
            Found { kind, heads, processes }
        };
        if kind.is_family_of_orphans() {
            let heads: BTreeSet<u32> = heads.collect();
            found.extend((!heads.is_empty()).then(|| of_heads(heads)));
        } else {
            found.extend(heads.map(|head| of_heads(BTreeSet::from([head]))));
        }
    }
    found
}

impl Kind {
    pub fn is_called(&self, name: &str) -> bool {
        let plain = |text: &str| text.replace([' ', '-', '_', '*'], "").to_lowercase();
        // The name of a language matches many programs.
        let processes = if self.title.is_empty() { self.processes } else { &[] };
        processes.iter().chain([&self.name]).any(|own| plain(own) == plain(name))
    }

    fn is(&self, root: &Root, all: &Processes, pid: u32) -> bool {
        let Some(process) = all.get(pid) else { return false };
        let is_named = self.processes.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => process.name.starts_with(begin),
            None => process.name == *name,
        });
        let is_titled = || processes::title(root, pid).ok().is_some_and(|t| t.contains(self.title));
        is_named && !process.ended && !all.is_kernel(pid) && (self.title.is_empty() || is_titled())
    }

    /// If all its processes are children of pid 1, they are one server.
    fn is_family_of_orphans(&self) -> bool {
        self.processes.iter().any(|name| name.ends_with('*'))
    }
}

impl Found {
    pub fn pid(&self) -> u32 {
        self.heads.first().copied().unwrap_or(0)
    }

    pub fn version(&self, root: &Root) -> Known<String> {
        (self.kind.version)(root, self.pid())
    }

    pub fn describe(&self, root: &Root, cpus: f64) -> Server {
        Server {
            kind: self.kind.name,
            version: self.version(root),
            pid: self.pid(),
            processes: self.processes.len(),
            sessions: self.sessions(root),
            cpus,
            memory_bytes: processes::memory_bytes(root, &self.processes),
        }
    }

    fn sessions(&self, root: &Root) -> Known<usize> {
        match &self.kind.sessions {
            Sessions::Sockets(doors) => sockets::sessions(root, &self.processes, doors),
            Sessions::Titles(is_session) => {
                let titles = self.processes.iter().map(|pid| processes::title(root, *pid));
                let titles: Vec<String> = titles.filter_map(Known::ok).collect();
                if titles.is_empty() {
                    return Known::missing(
                        Code::Unreadable,
                        "its processes do not show their titles",
                    );
                }
                Known::Is(titles.iter().filter(|title| is_session(title)).count())
            }
        }
    }
}

impl Server {
    /// A session count that is unknown counts as at work.
    pub fn is_at_work(&self) -> bool {
        self.cpus > HOUSEKEEPING_CPUS || self.sessions.get().is_none_or(|sessions| *sessions > 0)
    }

    pub fn name(&self) -> String {
        let version = self.version.get().map(|version| format!(" {version}"));
        format!("{}{} (pid {})", self.kind, version.unwrap_or_default(), self.pid)
    }

    pub fn sessions_told(&self) -> String {
        match &self.sessions {
            Known::Is(1) => "1 session".into(),
            Known::Is(sessions) => format!("{sessions} sessions"),
            Known::Missing(reason) => format!("sessions unknown ({reason})"),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.name(), self.sessions_told())?;
        if self.cpus < 0.995 {
            return write!(f, "{:.0}% of a CPU", self.cpus * 100.0);
        }
        write!(f, "{:.1} CPUs", self.cpus)
    }
}

/// `oracleSALES (LOCAL=NO)`
fn is_oracle_session(title: &str) -> bool {
    title.starts_with("oracle") && title.contains("(LOCAL=")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn untold(_: &Root, _: u32) -> Known<String> {
    Known::missing(Code::NotTold, "only the server itself could tell, and it is not asked")
}

/// A server's working directory is its data directory; if that is unreadable, the command line.
fn version_of_postgresql(root: &Root, pid: u32) -> Known<String> {
    root.text(&format!("proc/{pid}/cwd/PG_VERSION")).or_else(|_| {
        // …/postgresql/17/bin/postgres, …/pgsql-17/bin/postgres
        let is_version = |part: &&str| {
            let (major, minor) = part.split_once('.').unwrap_or((part, "0"));
            let is_major = major.parse().is_ok_and(|major: u32| (7..100).contains(&major));
            is_major && is_number(minor)
        };
        processes::title(root, pid).and_then(|title| {
            let parts = title.split(['/', ' ', '=']).map(|part| part.trim_start_matches("pgsql-"));
            let version = parts.skip(1).find(is_version);
            version.map_or_else(|| untold(root, pid), |version| Known::Is(version.to_owned()))
        })
    })
}

/// `10.11.6-MariaDB`, as the last upgrade wrote it into the data directory.
fn version_of_mariadb(root: &Root, pid: u32) -> Known<String> {
    let file = |name: &str| root.text(&format!("proc/{pid}/cwd/{name}"));
    let text = file("mariadb_upgrade_info").or_else(|_| file("mysql_upgrade_info"));
    let version = text.map(|text| text.split('-').next().unwrap_or_default().to_owned());
    let version = version.ok().filter(|version| !version.is_empty());
    version.map_or_else(|| untold(root, pid), Known::Is)
}
