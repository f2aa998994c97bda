//! The MariaDB server of the fault tests.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use hopcost_testkit::mariadb::MariaDb;

use crate::at_work::{self, Server};

pub type Bench = at_work::Bench<MariaDb>;

impl Server for MariaDb {
    const OURS: &'static str = "database";

    fn target(&self) -> String {
        format!("mariadb:{}", self.url(""))
    }

    fn target_at(&self, port: u16) -> String {
        format!("mariadb://root@127.0.0.1:{port}/")
    }

    fn socket(&self) -> PathBuf {
        self.socket()
    }

    fn directory(&self) -> &Path {
        self.directory()
    }

    fn has_ours(&self) -> bool {
        let ours = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'hopcost'";
        self.ask(ours) == "1"
    }

    /// All other connections are hopcost's.
    fn sessions(&self) -> u32 {
        let others =
            "SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()";
        self.ask(others).parse().unwrap()
    }

    fn sessions_at_work(&self) -> u32 {
        let executed = || {
            let status = self.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
            status[1].parse::<u64>().unwrap()
        };
        let before = executed();
        sleep(Duration::from_millis(100));
        if executed() > before + 10 { self.sessions() } else { 0 }
    }

    fn is_being_filled(&self) -> bool {
        let rows = "SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'hopcost'";
        self.ask(rows).parse::<u64>().unwrap() > 10_000
    }

    fn dump(&self) -> String {
        self.dump()
    }

    fn kill(&self) {
        self.kill();
    }

    fn start_again(&self) {
        self.start_again();
    }
}

pub fn bench() -> Bench {
    let bench = Bench::with(MariaDb::start(&[]));
    bench.server.ask("CREATE DATABASE theirs");
    bench.server.ask("CREATE TABLE theirs.numbers (n INT) AS SELECT 1 AS n");
    bench
}
