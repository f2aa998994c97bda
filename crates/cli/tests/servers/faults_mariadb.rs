//! Faults on MariaDB: full disks, cut connections, interruptions.

use hopcost_testkit::disk::SmallDisk;
use hopcost_testkit::mariadb::MariaDb;

use crate::at_work::{alone, text};
use crate::faults;
use crate::on_mariadb::{Bench, bench};

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
