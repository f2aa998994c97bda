//! What goes wrong while `hopcost` works on a PostgreSQL server: full disks, cut connections, interruptions.
//! Each ends with words, what was finished stays, and what was made is dropped or can be.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

#[path = "../../kit/tests/server/disk.rs"]
mod disk;
mod on_postgresql;
#[path = "../../kit/tests/server/proxy.rs"]
mod proxy;

use std::fs;
use std::process::{Command, Stdio};

use disk::SmallDisk;
use on_postgresql::at_work::{
    NOT_PUT_BACK, PUT_BACK, Server, alone, interrupted, text, wait_until,
};
use on_postgresql::{Bench, PostgreSql};
use proxy::Proxy;

#[test]
fn a_full_disk_ends_a_run_and_a_load_with_words() {
    let _alone = alone();
    let disk = SmallDisk::of_mib(64);
    let bench = Bench::with(PostgreSql::with_its_log_in(&disk.path().join("log"), disk.keeper()));
    let owner = fs::metadata(bench.server.directory()).unwrap();
    let place = disk.directory("tables", &owner).display().to_string();
    bench.server.ask(&format!("CREATE TABLESPACE small LOCATION '{place}'"));
    bench.server.ask("ALTER ROLE me SET default_tablespace = small");
    let before = bench.server.dump();

    let run = bench.at_work(&bench.url());
    // The log has some room left, and the tables have none.
    bench.server.ask("SELECT pg_switch_wal()");
    disk.fill();
    bench.failed(run, &["could not extend file"]);
    let report = text(&bench.hopcost(&["report"]).output().unwrap());
    for words in ["calls of a window failed, the first: single_row_commit", "No space left", "free"]
    {
        assert!(report.contains(words), "{report}");
    }
    assert!(!bench.has_schema());

    let load = ["load", &bench.url(), "archive_view", "--scale", "20000"];
    let output = bench.hopcost(&load).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("loading "), "{}", text(&output));
    assert!(text(&output).contains("No space left on device"), "{}", text(&output));
    assert!(!bench.has_schema());
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), before);

    // A server of hopcost's own finds no room for its data.
    let mut run = Command::new("nsenter");
    run.args(["--target", &disk.keeper().to_string(), "--mount", "--wd=."]);
    run.args([env!("CARGO_BIN_EXE_hopcost"), "run", "same.toml", "--quick"]);
    run.args(["--target", "postgres:managed", "--cache-dir"]).arg(disk.path().join("cache"));
    let output = run.current_dir(bench.dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("No space left on device"), "{}", text(&output));
    let report = text(&bench.hopcost(&["report"]).output().unwrap());
    assert!(report.contains("was not finished (") && report.contains("No space left"), "{report}");
    disk.free();

    // Where the log has no room, the whole server stops.
    bench.server.ask("ALTER ROLE me RESET default_tablespace");
    let run = bench.at_work(&bench.url());
    disk.fill();
    let mut psql = bench.server.client("psql", &["-c", "SELECT pg_switch_wal()"]);
    psql.status().unwrap();
    bench.failed(run, &["No space left", "crash of another server process"]);
    bench.server.kill();
    let output = bench.restore();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("NOT REMOVED"), "{}", text(&output));
    disk.free();
    bench.server.start_again();
    assert!(bench.has_schema());
    assert!(bench.has_promise());
    assert!(!bench.has_schema(), "that was 'hopcost restore'");
}

#[test]
fn a_connection_that_is_cut_or_silent_is_told_and_never_in_the_way_of_an_interruption() {
    let _alone = alone();
    let bench = Bench::new(&[]);
    let before = bench.server.dump();
    let network = Proxy::before(bench.server.socket());
    let url = |limit: u32| {
        let to = format!("//me@127.0.0.1:{}/postgres", network.port());
        format!("postgres:{to}?sslmode=disable&connect_timeout={limit}")
    };
    let (url, soon) = (url(3), url(1));

    let run = bench.at_work(&url);
    network.reset();
    bench.failed(run, &["single_row_commit: the connection was reset"]);
    assert!(!bench.has_schema(), "the server is there, and lets us in again");

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
    assert!(bench.has_schema(), "nobody could be told to drop it");
    network.be_silent(false);
    let restored = text(&bench.restore());
    assert!(restored.contains("dropped the schema hopcost"), "{restored}");
    assert_eq!(bench.server.dump(), before);

    // Of a few connections each waits for itself, many are waited for together.
    for clients in [3, 40] {
        let drive = || {
            let mut drive = bench.hopcost(&["drive", &url, "--workload", "null_call"]);
            drive.args(["--duration", "10m", "--threads", "1", "--clients", &clients.to_string()]);
            let drive = drive.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
    let bench = Bench::new(&[]);
    let url = bench.url();
    let before = bench.server.dump();
    let load = || {
        let load = bench.spawn(&["load", &url, "tpcc", "--scale", "20"]);
        wait_until("a table is being filled", || {
            let copies = "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 0";
            bench.server.ask(copies) != "0"
        });
        load
    };
    let drive = || {
        let drive = ["drive", &url, "--workload", "newest_bounded", "--scale", "100"];
        let drive = bench.spawn(&[&drive[..], &["--duration", "10m", "--clients", "3"]].concat());
        wait_until("the data is there, and clients at work", || bench.server.sessions() >= 4);
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
