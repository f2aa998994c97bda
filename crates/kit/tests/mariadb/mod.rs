//! A MariaDB server of a test's own; it ends with its value.
#![allow(dead_code)] // each test file uses its part

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hopcost_kit::targets::mysql::{Asked, Wire, read};
use hopcost_sys::is_root;

/// It has to be installed: `cargo xtask test` sees to that, or says what to install.
const NEEDED: &str = "this test needs MariaDB: apt-get install mariadb-server-core";

/// The server. Its user root needs no password.
pub struct MariaDb {
    child: Child,
    dir: tempfile::TempDir,
    port: u16,
}

impl MariaDb {
    /// Reachable by a Unix socket, and over TCP on loopback.
    pub fn start(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let user = is_root().then(|| nobody().expect("a user 'nobody'"));
        if let Some((user, group)) = user {
            chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        let own = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let data = dir.path().join("data");
        std::fs::create_dir(&data).unwrap();
        if let Some((user, group)) = user {
            chown(&data, Some(user), Some(group)).unwrap();
        }
        let script = dir.path().join("system-tables");
        std::fs::write(&script, system_tables()).unwrap();
        let mut install = command("mariadbd", user);
        install.args(["--no-defaults", "--bootstrap", &own("datadir", &data)]);
        install.arg(own("tmpdir", dir.path())).stdin(std::fs::File::open(&script).unwrap());
        let output = install.current_dir(dir.path()).output().expect(NEEDED);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let port = 20_000 + (std::process::id() % 20_000) as u16 + next();
        let mut server = command("mariadbd", user);
        server.args(["--no-defaults", "--bind-address=127.0.0.1", "--local-infile=ON"]);
        server.args([&own("datadir", &data), &own("tmpdir", dir.path())]);
        server.args([&own("socket", &dir.path().join("socket")), &format!("--port={port}")]);
        server.arg(own("pid-file", &dir.path().join("pid"))).args(options).current_dir(dir.path());
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let child = server.stderr(log).spawn().expect(NEEDED);
        let server = Self { child, dir, port };
        for _ in 0..600 {
            if server.try_to_connect().is_some() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it does not answer: {:?}", std::fs::read_to_string(server.dir.path().join("log")));
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// Where it is, after the name of the target.
    pub fn url(&self, database: &str) -> String {
        format!("//root@/{database}?host={}", self.socket().display())
    }

    /// The same by another user, over TCP.
    pub fn url_of(&self, user: &str) -> String {
        format!("//{user}@127.0.0.1:{}/", self.port)
    }

    fn try_to_connect(&self) -> Option<Wire> {
        match read("mariadb", &self.url(""), &|_| None).unwrap() {
            Asked::Running(address) => Wire::connect(&address).ok(),
            Asked::Managed(_) => None,
        }
    }

    /// The first value of an answer, or nothing.
    pub fn ask(&self, sql: &str) -> String {
        let mut wire = self.try_to_connect().expect("it answers");
        wire.value(sql).unwrap().unwrap_or_default()
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What its installer says, with a user root who needs no password.
fn system_tables() -> Vec<u8> {
    let before = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n";
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql"]
        .iter()
        .map(|name| std::fs::read(format!("/usr/share/mysql/mysql_{name}")).expect(NEEDED))
        .fold(before.as_bytes().to_vec(), |all, script| [all, script, b"\n".to_vec()].concat())
}

fn command(program: &str, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

fn nobody() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find_map(|line| line.strip_prefix("nobody:"))?;
    let mut ids = line.split(':').skip(1).map(str::parse);
    Some((ids.next()?.ok()?, ids.next()?.ok()?))
}

fn next() -> u16 {
    static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
