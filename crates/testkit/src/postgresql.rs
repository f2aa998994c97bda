//! A PostgreSQL server for a test; dropping it ends the server.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::account;
use crate::certificate::certificate;
use crate::kept::{free_port, kept};

/// Where Debian and the PostgreSQL project's packages put the programs, by version.
const PLACES: [&str; 2] = ["/usr/lib/postgresql", "/usr"];
const NEEDED: &str = "this test needs PostgreSQL: apt-get install postgresql";

/// Its superuser is `me`.
pub struct PostgreSql {
    programs: PathBuf,
    /// PostgreSQL refuses to run as root.
    user: Option<account::Ids>,
    dir: tempfile::TempDir,
    port: u16,
    within: Option<u32>,
}

impl PostgreSql {
    /// Listens on a Unix socket alone, without a password.
    pub fn start(options: &[&str]) -> Self {
        let server = Self::made("trust");
        server.run_with("-c listen_addresses=", options);
        server
    }

    /// Also listens on TCP on loopback, with a password.
    pub fn with_passwords(password: &str) -> Self {
        let server = Self::made("trust");
        server.ask_for_passwords();
        server.run_with("-c listen_addresses=localhost", &[]);
        server.ask(&format!("ALTER ROLE me PASSWORD '{password}'"));
        server
    }

    /// The same with TLS; puts its certificate into `certificate`.
    pub fn with_tls(password: &str, certificate: &Path) -> Self {
        let server = Self::made("trust");
        server.ask_for_passwords();
        self::certificate(certificate, "localhost");
        for file in ["server.crt", "server.key"] {
            let to = server.data().join(file);
            std::fs::copy(certificate.join(file), &to).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&to, mode).unwrap();
            server.give(&to);
        }
        server.run_with("-c listen_addresses=localhost -c ssl=on", &[]);
        server.ask(&format!("ALTER ROLE me PASSWORD '{password}'"));
        server
    }

    /// Listens on loopback for clients with a Kerberos ticket; `keys` is its key table.
    pub fn with_tickets(keys: &Path) -> Self {
        let server = Self::made("trust");
        server.let_in("local all all trust\nhost all all all gss include_realm=0\n");
        let own = server.data().join("keys");
        std::fs::copy(keys, &own).unwrap();
        server.give(&own);
        let keys = format!("-c krb_server_keyfile={}", own.display());
        server.run_with("-c listen_addresses=localhost", &[&keys]);
        server
    }

    /// The same with its log on a file system that the process `within` sees at `log`.
    pub fn with_its_log_in(log: &Path, within: u32) -> Self {
        let log = log.display().to_string();
        let server = Self::made_with(Some(within), "trust", &["-X", &log, "--wal-segsize=1"]);
        server.run_with("-c listen_addresses=", &[]);
        server
    }

    fn made(authentication: &str) -> Self {
        Self::made_with(None, authentication, &[])
    }

    fn made_with(within: Option<u32>, authentication: &str, more: &[&str]) -> Self {
        let user = account::for_root("postgres", NEEDED);
        let programs = programs().expect(NEEDED);
        let port = free_port();
        let server = Self { programs, user, dir: tempfile::tempdir().unwrap(), port, within };
        server.give(server.dir.path());
        let data = server.data().display().to_string();
        let options = ["-D", &data, "-A", authentication, "-N", "-U", "me"];
        let options = [&options[..], more].concat();
        match server.template().filter(|_| more.is_empty()) {
            None => assert!(server.run("initdb", &options)),
            Some(template) if copy(&template, &server.data()) => {}
            Some(template) => {
                assert!(server.run("initdb", &options));
                // Another process may make one too; they are equal.
                let new = template.with_extension(server.port.to_string());
                assert!(copy(&server.data(), &new));
                if std::fs::rename(&new, &template).is_err() {
                    std::fs::remove_dir_all(&new).unwrap();
                }
            }
        }
        server
    }

    /// A kept empty cluster of this version, which is faster to copy than to make; `None` if the
    /// version is not known.
    fn template(&self) -> Option<PathBuf> {
        let version =
            self.programs.strip_prefix("/usr").ok()?.parent()?.to_str()?.replace('/', "-");
        let user = self.user.map_or(0, |(user, _)| user);
        (!version.is_empty()).then(|| kept().join(format!("cluster-{version}-{user}")))
    }

    fn ask_for_passwords(&self) {
        self.let_in("local all all trust\nhost all all all scram-sha-256\n");
    }

    fn let_in(&self, rules: &str) {
        std::fs::write(self.data().join("pg_hba.conf"), rules).unwrap();
    }

    pub fn start_again(&self) {
        self.run_with("-c listen_addresses=", &[]);
    }

    fn run_with(&self, listen: &str, options: &[&str]) {
        let (dir, port) = (self.dir.path().display(), self.port);
        let options = format!("{listen} -k {dir} -p {port} {}", options.join(" "));
        let data = self.data().display().to_string();
        let log = self.dir.path().join("log").display().to_string();
        assert!(self.run("pg_ctl", &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]));
    }

    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).unwrap();
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn pid(&self) -> u32 {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    pub fn url(&self, database: &str) -> String {
        format!("//me@/{database}?host={}&port={}", self.dir.path().display(), self.port)
    }

    pub fn tcp(&self, user: &str, options: &str) -> String {
        format!("//{user}@localhost:{}/postgres{options}", self.port)
    }

    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let program = self.programs.join(program);
        let mut command = account::command(&program, self.user, self.within);
        command.args(arguments).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        self.command(program, arguments).status().unwrap().success()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join(format!(".s.PGSQL.{}", self.port))
    }

    pub fn directory(&self) -> &Path {
        self.dir.path()
    }

    pub fn client(&self, program: &str, arguments: &[&str]) -> Command {
        let (host, port) = (self.dir.path().display().to_string(), self.port.to_string());
        let mut command =
            // Not `-d`, which means the database to most programs and debug output to pgbench.
            self.command(program, &["-h", &host, "-p", &port, "-U", "me", "postgres"]);
        command.args(arguments);
        command
    }

    /// psql's output. Waits for a server that is recovering.
    pub fn ask(&self, sql: &str) -> String {
        for _ in 0..200 {
            let mut psql = self.client("psql", &["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql]);
            let output = psql.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                return String::from_utf8(output.stdout).unwrap().trim().to_owned();
            }
            assert!(error.contains("FATAL:  the database system is"), "{sql}: {error}");
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{sql}: the server does not come up again");
    }

    pub fn dump(&self) -> String {
        let output = self.client("pg_dump", &[]).stdout(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Newer versions write a random key into each dump.
        text.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    pub fn session(&self) -> Child {
        self.client("psql", &["-c", "select pg_sleep(60)"]).spawn().unwrap()
    }

    pub fn kill(&self) {
        let data = self.data().display().to_string();
        self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        self.kill();
    }
}

fn copy(from: &Path, to: &Path) -> bool {
    let copied = || Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success();
    from.is_dir() && copied()
}

/// The directory of the programs to test instead of the installed ones.
pub fn chosen() -> Option<PathBuf> {
    std::env::var_os("HOPCOST_TEST_POSTGRES").map(PathBuf::from)
}

fn programs() -> Option<PathBuf> {
    if let Some(chosen) = chosen() {
        return Some(chosen);
    }
    let versions = |place: &&str| {
        let entries = Path::new(place).read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
    };
    let mut dirs: Vec<PathBuf> = PLACES.iter().flat_map(versions).collect();
    dirs.push("/usr/bin".into());
    dirs.retain(|dir| ["initdb", "pg_ctl", "psql"].iter().all(|name| dir.join(name).exists()));
    dirs.pop()
}
