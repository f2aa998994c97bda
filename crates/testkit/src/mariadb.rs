//! A MariaDB or MySQL server for a test; dropping it ends the server.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hopcost_core::Console;
use hopcost_engines::mysql::read;
use hopcost_engines::{Asked, console};

use crate::account;
use crate::kept::{free_port, kept};

const NEEDED: &str = "this test needs MariaDB: apt-get install mariadb-server-core";

/// The target's name, and the directory of a MySQL's programs if one was chosen.
pub fn chosen() -> (&'static str, Option<PathBuf>) {
    match std::env::var_os("HOPCOST_TEST_MYSQL") {
        Some(programs) => ("mysql", Some(programs.into())),
        None => ("mariadb", None),
    }
}

/// Its user `root` has no password.
pub struct MariaDb {
    child: Mutex<Option<Child>>,
    dir: tempfile::TempDir,
    data: PathBuf,
    port: u16,
    options: Vec<String>,
    within: Option<u32>,
}

impl MariaDb {
    pub fn start(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir(&data).unwrap();
        Self::made(dir, data, None, options)
    }

    /// The same with its tables on a file system that the process `within` sees at `data`.
    pub fn with_its_tables_in(data: &Path, within: u32, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::made(dir, data.to_owned(), Some(within), options)
    }

    /// A replica of `leader`, which must have a binary log.
    pub fn follow(leader: &Self) -> Self {
        let server = Self::start(&["--server-id=2"]);
        leader.ask("CREATE USER follower@'127.0.0.1' IDENTIFIED BY 'follows'");
        leader.ask("GRANT REPLICATION SLAVE ON *.* TO follower@'127.0.0.1'");
        server.ask(&format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'follower', \
             MASTER_PASSWORD = 'follows'",
            leader.port
        ));
        server.ask("START SLAVE");
        server
    }

    fn made(dir: tempfile::TempDir, data: PathBuf, within: Option<u32>, options: &[&str]) -> Self {
        let port = free_port();
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let server = Self { child: Mutex::new(None), dir, data, port, options, within };
        if let Some((user, group)) = user() {
            let inside = server.within.is_none().then_some(server.data.as_path());
            for path in [Some(server.dir.path()), inside].into_iter().flatten() {
                chown(path, Some(user), Some(group)).unwrap();
            }
        }
        server.install();
        server.start_again();
        server
    }

    /// Creates the system tables. Each process makes them once and copies them, which is faster.
    fn install(&self) {
        static MADE: OnceLock<PathBuf> = OnceLock::new();
        // These options fix sizes when the tables are made.
        if self.options.iter().any(|option| option.starts_with("--innodb-")) {
            return self.make_tables();
        }
        let made = MADE.get_or_init(|| {
            self.make_tables();
            let made = kept().join(format!("tables-{}", std::process::id()));
            copy(&self.data, &made);
            made
        });
        if self.data.read_dir().unwrap().next().is_none() {
            copy(&made.join("."), &self.data);
        }
        // Holds the server's UUID, which must be unique.
        let _ = std::fs::remove_file(self.data.join("auto.cnf"));
    }

    fn make_tables(&self) {
        let mut install = self.command();
        if chosen().1.is_some() {
            install.arg("--initialize-insecure");
        } else {
            let script = self.dir.path().join("system-tables");
            std::fs::write(&script, system_tables()).unwrap();
            install.arg("--bootstrap").stdin(std::fs::File::open(&script).unwrap());
        }
        let output = install.output().expect(NEEDED);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn start_again(&self) {
        self.start_with(None);
    }

    /// With the option file, if it is there.
    pub fn start_with(&self, file: Option<&Path>) {
        let own = |name: &str| self.dir.path().join(name).display().to_string();
        let mut server = self.command_with(file.filter(|file| file.is_file()));
        server.args([format!("--socket={}", own("socket")), format!("--port={}", self.port)]);
        server.arg(format!("--pid-file={}", own("pid")));
        let log = std::fs::File::create(own("log")).unwrap();
        *self.child() = Some(server.stderr(log).spawn().expect(NEEDED));
        for _ in 0..600 {
            if self.connect().is_some() {
                return;
            }
            let has_ended =
                self.child().as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if has_ended {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it does not answer: {:?}", std::fs::read_to_string(own("log")));
    }

    pub fn kill(&self) {
        let Some(mut child) = self.child().take() else { return };
        let _ = child.kill();
        let _ = child.wait();
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self) -> Command {
        self.command_with(None)
    }

    fn command_with(&self, file: Option<&Path>) -> Command {
        let programs = chosen().1;
        let program = programs.map_or("mariadbd".into(), |programs| programs.join("mysqld"));
        let mut command = account::command(&program, user(), self.within);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir(self.dir.path());
        let named = |file: &Path| format!("--defaults-file={}", file.display());
        command.arg(file.map_or("--no-defaults".to_owned(), named));
        command.arg(format!("--datadir={}", self.data.display()));
        command.arg(format!("--tmpdir={}", self.dir.path().display()));
        command.args(["--bind-address=127.0.0.1", "--local-infile=ON"]);
        if chosen().1.is_some() {
            command.args(["--secure-file-priv=", "--mysqlx=OFF"]);
        }
        command.args(&self.options);
        command
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub fn directory(&self) -> &Path {
        self.dir.path()
    }

    pub fn url(&self, database: &str) -> String {
        format!("//root@/{database}?host={}", self.socket().display())
    }

    pub fn url_of(&self, user: &str) -> String {
        format!("//{user}@127.0.0.1:{}/", self.port)
    }

    pub fn connect(&self) -> Option<Box<dyn Console>> {
        match read(chosen().0, &self.url(""), &|_| None).unwrap() {
            Asked::Running(address) => console(&address).ok(),
            Asked::Managed(_) => None,
        }
    }

    pub fn rows(&self, sql: &str) -> Vec<String> {
        let mut wire = self.connect().expect("it answers");
        wire.rows(sql).unwrap().into_iter().flatten().flatten().collect()
    }

    /// The first value of an answer, or an empty text.
    pub fn ask(&self, sql: &str) -> String {
        self.rows(sql).into_iter().next().unwrap_or_default()
    }

    /// All definitions and table checksums, except the server's own.
    pub fn dump(&self) -> String {
        let of_users =
            "TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
        let mut all = self.rows("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1");
        let named = "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES";
        for table in self.rows(&format!("{named} WHERE {of_users} ORDER BY 1")) {
            all.extend(self.rows(&format!("SHOW CREATE TABLE {table}")));
            all.extend(self.rows(&format!("CHECKSUM TABLE {table}")));
        }
        all.join("\n")
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The installer's scripts, with a user `root` without a password.
fn system_tables() -> Vec<u8> {
    let before = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n";
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql"]
        .iter()
        .map(|name| std::fs::read(format!("/usr/share/mysql/mysql_{name}")).expect(NEEDED))
        .fold(before.as_bytes().to_vec(), |all, script| [all, script, b"\n".to_vec()].concat())
}

/// MariaDB refuses to run as root.
fn user() -> Option<account::Ids> {
    account::for_root("nobody", "a user 'nobody'")
}
