//! A real PostgreSQL: idle, with sessions, and after they left.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hopcost_core::Known;
use hopcost_kit::occupancy::servers::{self, Server};
use hopcost_sys::sockets::{Doors, sessions};
use hopcost_sys::{Root, clock, is_root, processes};

/// Where distributions put the server's programs, by version: Debian's, and the PostgreSQL project's own
/// packages.
const PLACES: [&str; 2] = ["/usr/lib/postgresql", "/usr"];

/// A server of our own; it ends with this value.
struct PostgreSql {
    programs: PathBuf,
    /// PostgreSQL refuses to run as root.
    user: Option<(u32, u32)>,
    dir: tempfile::TempDir,
}

impl PostgreSql {
    /// It has to be installed: `cargo xtask test` sees to that, or says what to install.
    fn start() -> Self {
        const NEEDED: &str = "this test needs PostgreSQL: apt-get install postgresql";
        let user = is_root().then(|| user_named("postgres").expect(NEEDED));
        let programs = programs().expect(NEEDED);
        let server = Self { programs, user, dir: tempfile::tempdir().unwrap() };
        if let Some((user, group)) = user {
            chown(server.dir.path(), Some(user), Some(group)).unwrap();
        }
        assert!(server.run("initdb", &["-D", &server.data(), "-A", "trust", "-N"]));
        let options = format!("-c listen_addresses= -k {}", server.dir.path().display());
        let log = server.dir.path().join("log").display().to_string();
        let start = ["-D", &server.data(), "-o", &options, "-l", &log, "-w", "start"];
        assert!(server.run("pg_ctl", &start));
        server
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    fn pid(&self) -> u32 {
        let file = std::fs::read_to_string(self.dir.path().join("data/postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        self.command(program, arguments).status().unwrap().success()
    }

    /// A session that waits for its end.
    fn session(&self) -> Child {
        let host = self.dir.path().display().to_string();
        let arguments = ["-h", &host, "-d", "postgres", "-c", "select pg_sleep(60)"];
        self.command("psql", &arguments).spawn().unwrap()
    }

    fn seen(&self) -> Option<Server> {
        let root = Root::live();
        let found = servers::find(&root, &processes::read(&root).ok()?);
        let ours = found.into_iter().find(|found| found.pid() == self.pid())?;
        let doors = Doors { ports: &[], path: "no such path" };
        let by_socket = sessions(&root, &ours.processes, &doors);
        let server = ours.describe(&root, 0.0);
        // Two ways of counting agree, once nobody comes or goes.
        (by_socket == server.sessions).then_some(server)
    }

    /// Is it seen with so many sessions, within some seconds?
    fn comes_to(&self, count: usize) -> Option<Server> {
        let start = clock::now();
        while start.elapsed() < Duration::from_secs(20) {
            let server = self.seen().filter(|server| server.sessions == Known::Is(count));
            if server.is_some() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }
}

/// The directory with the newest `initdb` and `pg_ctl`.
fn programs() -> Option<PathBuf> {
    let versions = |place: &&str| {
        let entries = Path::new(place).read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
    };
    let mut dirs: Vec<PathBuf> = PLACES.iter().flat_map(versions).collect();
    dirs.push("/usr/bin".into());
    dirs.retain(|dir| ["initdb", "pg_ctl", "psql"].iter().all(|name| dir.join(name).exists()));
    dirs.pop()
}

fn user_named(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut numbers = line.split(':').skip(1).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[test]
fn sessions_of_a_real_server_are_seen_come_and_go() {
    let server = PostgreSql::start();
    let idle = server.comes_to(0).expect("an idle server");
    assert!(!idle.is_at_work(), "{idle}");
    assert!(idle.version.get().is_some_and(|version| !version.is_empty()), "{idle:?}");
    assert!(idle.memory_bytes.get().is_some_and(|bytes| *bytes > 1 << 20), "{idle:?}");
    let mut clients: Vec<Child> = (0..3).map(|_| server.session()).collect();
    let at_work = server.comes_to(3);
    for client in &mut clients {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    let at_work = at_work.expect("three sessions");
    assert!(at_work.is_at_work(), "{at_work}");
    assert!(at_work.to_string().contains(": 3 sessions"), "{at_work}");
}
