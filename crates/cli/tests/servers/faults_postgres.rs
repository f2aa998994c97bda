//! Faults on PostgreSQL: full disks, cut connections, interruptions.

use std::fs;
use std::process::Command;

use hopcost_testkit::disk::SmallDisk;
use hopcost_testkit::postgresql::PostgreSql;

use crate::at_work::{alone, text};
use crate::faults;
use crate::on_postgresql::Bench;

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
    // The log has space left, and the tables have none.
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

    // A managed server finds no space for its data.
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

    // Without space for its log the whole server stops.
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
    faults::a_connection_is_cut_or_silent(&Bench::new(&[]));
}

#[test]
fn loads_and_drives_that_are_interrupted_or_killed_leave_what_was_there_before() {
    let _alone = alone();
    faults::loads_and_drives_are_interrupted_or_killed(&Bench::new(&[]));
}
