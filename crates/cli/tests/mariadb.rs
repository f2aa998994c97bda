//! `hopcost` on a MariaDB server, as a user meets it, and what goes wrong meanwhile: each fault ends with words,
//! what was finished stays, and what was made is dropped or can be.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod at_work;
mod faults;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use at_work::{Server, alone, text};
use faults::SECRET;
use hopcost_testkit::disk::SmallDisk;
use hopcost_testkit::mariadb::MariaDb;

type Bench = at_work::Bench<MariaDb>;

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

    /// Nobody else is there.
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

fn bench() -> Bench {
    let bench = Bench::with(MariaDb::start(&[]));
    bench.server.ask("CREATE DATABASE theirs");
    bench.server.ask("CREATE TABLE theirs.numbers (n INT) AS SELECT 1 AS n");
    bench
}

#[test]
fn a_run_ends_clean_and_its_store_holds_no_password() {
    let bench = bench();
    bench.server.ask(&format!("CREATE USER me@'127.0.0.1' IDENTIFIED BY '{SECRET}'"));
    bench.server.ask("GRANT ALL ON *.* TO me@'127.0.0.1'");
    let url = format!("mariadb:{}", bench.server.url_of(&format!("me:{SECRET}")));
    faults::a_run_keeps_no_password(&bench, &url);
}

#[test]
fn a_server_that_dies_ends_the_run_with_words_and_what_was_finished_stays() {
    let _alone = alone();
    faults::a_server_dies_in_a_run(
        &bench(),
        &["closed the connection", "the connection was reset"],
    );
}

#[test]
fn a_full_disk_ends_a_run_and_a_load_with_words() {
    let _alone = alone();
    let disk = SmallDisk::of_mib(128);
    let small = ["--innodb-log-file-size=4M", "--innodb-data-file-path=ibdata1:12M:autoextend"];
    let server = MariaDb::with_its_tables_in(&disk.path(), disk.keeper(), &small);
    let bench = Bench::with(server);
    let before = bench.server.dump();

    let run = bench.at_work(&bench.url());
    disk.fill();
    bench.failed(run, &["is full", "No space left", "Disk full"]);
    disk.free();

    // More than there is room for.
    let load = ["load", &bench.url(), "archive_view", "--scale", "200000"];
    let output = bench.hopcost(&load).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = text(&output);
    let is_told =
        ["is full", "No space left", "Disk full"].iter().any(|words| said.contains(words));
    assert!(is_told, "{said}");
    bench.restore();
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), before);
}

#[test]
fn a_connection_that_is_cut_or_silent_is_told_and_never_in_the_way_of_an_interruption() {
    let _alone = alone();
    faults::a_connection_is_cut_or_silent(&bench());
}

#[test]
fn loads_and_drives_that_are_interrupted_or_killed_leave_what_was_there_before() {
    let _alone = alone();
    faults::loads_and_drives_are_interrupted_or_killed(&bench());
}
