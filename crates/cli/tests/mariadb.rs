//! `hopcost` on a MariaDB server, as a user meets it, and what goes wrong meanwhile: each fault ends with words,
//! what was finished stays, and what was made is dropped or can be.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod at_work;
#[path = "../../kit/tests/server/disk.rs"]
mod disk;
#[path = "../../kit/tests/mariadb/mod.rs"]
mod mariadb;
#[path = "../../kit/tests/server/proxy.rs"]
mod proxy;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use at_work::{NOT_PUT_BACK, PUT_BACK, Server, alone, interrupted, text, wait_until};
use disk::SmallDisk;
use mariadb::MariaDb;
use proxy::Proxy;

type Bench = at_work::Bench<MariaDb>;

impl Server for MariaDb {
    fn target(&self) -> String {
        format!("mariadb:{}", self.url(""))
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

    fn dump(&self) -> String {
        self.dump()
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
    bench.server.ask("CREATE USER me@'127.0.0.1' IDENTIFIED BY 'do-not-keep-me'");
    bench.server.ask("GRANT ALL ON *.* TO me@'127.0.0.1'");
    let before = bench.server.dump();
    let url = format!("mariadb:{}", bench.server.url_of("me:do-not-keep-me"));
    let mut run = bench.hopcost(&["run", "same.toml", "--quick", "--set", "units=8"]);
    run.args(["--set", "window=30ms", "--set", "guard=10ms", "--target", &url, "--json"]);
    let output = run.output().unwrap();
    assert!(text(&output).contains("\"verdict\""), "{}", text(&output));
    assert!(text(&output).contains("of log in all while hopcost was there"), "{}", text(&output));
    assert_eq!(bench.server.dump(), before);
    let page = bench.dir.path().join("page.html");
    bench.hopcost(&["report", "--html"]).arg(&page).output().unwrap();
    for file in [page, bench.dir.path().join("hopcost.db")] {
        let bytes = fs::read(&file).unwrap();
        let secret = b"do-not-keep-me";
        let is_there = bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!is_there, "{}", file.display());
    }
    assert!(!text(&output).contains("do-not-keep-me"));
}

#[test]
fn a_server_that_dies_ends_the_run_with_words_and_what_was_finished_stays() {
    let _alone = alone();
    let bench = bench();
    let before = bench.server.dump();
    let run = bench.at_work(&bench.url());
    bench.server.kill();
    bench.failed(run, &["closed the connection", "the connection was reset"]);
    // What could not be dropped is not forgotten.
    let output = bench.restore();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("NOT REMOVED"), "{}", text(&output));
    assert!(text(&output).contains("mariadb:"), "as it was asked for: {}", text(&output));
    bench.server.start_again();
    let output = bench.restore();
    assert!(text(&output).contains("dropped the database hopcost"), "{}", text(&output));
    assert_eq!(bench.server.dump(), before);
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
    let bench = bench();
    let before = bench.server.dump();
    let network = Proxy::before(bench.server.socket());
    let url = |limit: u32| {
        let options = format!("sslmode=disable&connect_timeout={limit}");
        format!("mariadb://root@127.0.0.1:{}/?{options}", network.port())
    };
    let (url, soon) = (url(3), url(1));

    let run = bench.at_work(&url);
    network.reset();
    bench.failed(run, &["single_row_commit: the connection was reset"]);
    assert_eq!(bench.server.dump(), before, "the server is there, and lets us in again");

    // Who is not let in has a limit.
    network.be_silent(true);
    let drive = ["drive", &soon, "--workload", "null_call", "--duration", "0.1s"];
    let output = bench.hopcost(&drive).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("the server does not answer"), "{}", text(&output));
    network.be_silent(false);

    let run = bench.at_work(&url);
    network.be_silent(true);
    let said = interrupted(run, NOT_PUT_BACK);
    assert!(said.contains("is still there: run 'hopcost restore'"), "{said}");
    assert!(bench.server.has_ours(), "nobody could be told to drop it");
    network.be_silent(false);
    let restored = text(&bench.restore());
    assert!(restored.contains("dropped the database hopcost"), "{restored}");
    assert_eq!(bench.server.dump(), before);

    // Of a few connections each waits for itself, many are waited for together.
    for clients in [3, 40] {
        let drive = || {
            let more = ["--threads", "1", "--clients", &clients.to_string()];
            let drive = ["drive", &url, "--workload", "null_call", "--duration", "10m"];
            let drive = bench.spawn(&[&drive[..], &more].concat());
            wait_until("all clients are at work", || bench.server.sessions_at_work() >= clients);
            drive
        };
        let silent = drive();
        network.be_silent(true);
        let said = interrupted(silent, PUT_BACK);
        assert!(!said.contains("still there"), "nothing was made: {said}");
        network.be_silent(false);
        wait_until("they are gone", || bench.server.sessions() == 0);

        let reset = drive();
        network.reset();
        let output = reset.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("null_call: the connection was reset"), "{}", text(&output));
        wait_until("they are gone", || bench.server.sessions() == 0);
    }
}

#[test]
fn loads_and_drives_that_are_interrupted_or_killed_leave_what_was_there_before() {
    let _alone = alone();
    let bench = bench();
    let url = bench.url();
    let before = bench.server.dump();
    let rows = "SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'hopcost'";
    let load = || {
        let load = bench.spawn(&["load", &url, "tpcc", "--scale", "20"]);
        wait_until("a table is being filled", || {
            bench.server.ask(rows).parse::<u64>().unwrap() > 10_000
        });
        load
    };
    let drive = || {
        let drive = ["drive", &url, "--workload", "newest_bounded", "--scale", "100"];
        let drive = bench.spawn(&[&drive[..], &["--duration", "10m", "--clients", "3"]].concat());
        wait_until("clients are at work", || bench.server.sessions_at_work() >= 4);
        drive
    };
    interrupted(load(), PUT_BACK);
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), before);
    bench.killed(load(), &before);
    interrupted(drive(), PUT_BACK);
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), before);
    bench.killed(drive(), &before);

    // What was loaded to stay does, whatever becomes of those who use it.
    let small = ["load", &url, "archive_view", "--scale", "100"];
    let output = bench.hopcost(&small).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let loaded = bench.server.dump();
    assert_ne!(loaded, before);
    interrupted(drive(), PUT_BACK);
    let mut drive = drive();
    // It is not taken from somebody who is at work with it.
    let output = bench.hopcost(&small).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("another hopcost is at work"), "{}", text(&output));
    drive.kill().unwrap();
    drive.wait().unwrap();
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), loaded);
}
