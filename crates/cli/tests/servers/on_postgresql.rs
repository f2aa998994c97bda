//! The PostgreSQL server of the fault tests.

use std::path::{Path, PathBuf};

use hopcost_testkit::postgresql::PostgreSql;

use crate::at_work::{self, Server};

pub type Bench = at_work::Bench<PostgreSql>;

impl Bench {
    pub fn new(options: &[&str]) -> Self {
        Self::with(PostgreSql::start(options))
    }

    pub fn has_schema(&self) -> bool {
        self.server.has_ours()
    }
}

impl Server for PostgreSql {
    const OURS: &'static str = "schema";

    fn target(&self) -> String {
        format!("postgres:{}", self.url("postgres"))
    }

    fn target_at(&self, port: u16) -> String {
        format!("postgres://me@127.0.0.1:{port}/postgres")
    }

    fn socket(&self) -> PathBuf {
        self.socket()
    }

    fn directory(&self) -> &Path {
        self.directory()
    }

    fn has_ours(&self) -> bool {
        self.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'") == "1"
    }

    fn sessions(&self) -> u32 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hopcost'";
        self.ask(sql).parse().unwrap()
    }

    /// Counts those that began a statement well after the last connection was admitted.
    fn sessions_at_work(&self) -> u32 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hopcost' \
                   AND query_start > (SELECT max(backend_start) + interval '200 ms' \
                   FROM pg_stat_activity WHERE application_name = 'hopcost')";
        self.ask(sql).parse().unwrap()
    }

    fn is_being_filled(&self) -> bool {
        self.ask("SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 0") != "0"
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
