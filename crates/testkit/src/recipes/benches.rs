//! Servers that steps are executed on.

use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::Console;
use hopcost_engines::{Asked, console, postgres};

use super::server::Bench;
use crate::mariadb::{self, MariaDb};
use crate::postgresql::PostgreSql;

impl Bench for PostgreSql {
    fn engine(&self) -> &'static str {
        "postgres"
    }

    fn connect(&self) -> Box<dyn Console> {
        match postgres::read(&self.url("postgres"), &|_| None).unwrap() {
            Asked::Running(address) => console(&address).unwrap(),
            Asked::Managed(_) => panic!("it runs"),
        }
    }

    fn state(&self) -> Vec<String> {
        let settings = "SELECT name, setting FROM pg_settings ORDER BY 1";
        let of_roles = "SELECT setrole::regrole, setconfig FROM pg_db_role_setting";
        let all = [settings, of_roles].map(|sql| self.ask(sql)).join("\n") + &self.dump();
        all.lines().map(str::to_owned).collect()
    }

    fn restart(&self, _: &Path) {
        self.kill();
        self.start_again();
    }

    fn shell(&self, line: &str) -> Command {
        if line.starts_with('\\') {
            return self.client("psql", &["-c", line]);
        }
        let mut shell = self.command("/bin/sh", &["-c", line]);
        shell.env("PGHOST", self.directory()).env("PGPORT", self.port().to_string());
        shell.env("PGUSER", "me");
        shell
    }

    fn directory(&self) -> PathBuf {
        self.directory().to_owned()
    }
}

impl Bench for MariaDb {
    fn engine(&self) -> &'static str {
        mariadb::chosen().0
    }

    fn connect(&self) -> Box<dyn Console> {
        self.connect().expect("it answers")
    }

    fn state(&self) -> Vec<String> {
        // What was ever committed is no setting.
        let settings = "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%'";
        let of_mysql = [
            "SELECT * FROM performance_schema.persisted_variables",
            "SELECT RESOURCE_GROUP_NAME FROM information_schema.RESOURCE_GROUPS",
        ];
        let is_mysql = mariadb::chosen().0 == "mysql";
        let mut session = self.connect().expect("it answers");
        let all = [settings].into_iter().chain(of_mysql.into_iter().filter(|_| is_mysql));
        let rows = all.flat_map(|sql| session.rows(sql).unwrap());
        let row = |row: Vec<Option<String>>| row.into_iter().flatten().collect::<Vec<_>>();
        let rows = rows.map(|columns| row(columns).join(" "));
        rows.chain(self.dump().lines().map(str::to_owned)).collect()
    }

    fn restart(&self, file: &Path) {
        self.kill();
        self.start_with(Some(file));
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]);
        shell
    }

    fn directory(&self) -> PathBuf {
        self.directory().to_owned()
    }
}
