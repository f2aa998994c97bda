//! Fault tests that apply to any server.

use std::fs;
use std::process::Child;

use crate::at_work::{Bench, NOT_PUT_BACK, PUT_BACK, Server, interrupted, text};
use crate::bench::wait_until;
use hopcost_testkit::proxy::Proxy;

/// A password that must not be stored anywhere.
pub const SECRET: &str = "do-not-keep-me";

pub fn a_run_keeps_no_password<S: Server>(bench: &Bench<S>, url: &str) {
    let before = bench.server.dump();
    let mut run = bench.hopcost(&["run", "same.toml", "--quick", "--set", "units=8"]);
    run.args(["--set", "window=30ms", "--set", "guard=10ms", "--target", url, "--json"]);
    let output = run.output().unwrap();
    assert!(text(&output).contains("\"verdict\""), "{}", text(&output));
    assert!(text(&output).contains("of log in all while hopcost was there"), "{}", text(&output));
    assert_eq!(bench.server.dump(), before);
    let page = bench.dir.path().join("page.html");
    bench.hopcost(&["report", "--html"]).arg(&page).output().unwrap();
    for file in [page, bench.dir.path().join("hopcost.db")] {
        let bytes = fs::read(&file).unwrap();
        let is_there = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!is_there, "{}", file.display());
    }
    assert!(!text(&output).contains(SECRET));
}

pub fn a_server_dies_in_a_run<S: Server>(bench: &Bench<S>, words: &[&str]) {
    let before = bench.server.dump();
    let run = bench.at_work(&bench.url());
    bench.server.kill();
    bench.failed(run, words);
    // Data that could not be dropped stays in the journal.
    let output = bench.restore();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("NOT REMOVED"), "{}", text(&output));
    let target = bench.url();
    let name = target.split_once("//").unwrap().0;
    assert!(text(&output).contains(name), "as it was asked for: {}", text(&output));
    bench.server.start_again();
    bench.restored(&before);
}

/// A cut connection, and one on which the server falls silent.
pub fn a_connection_is_cut_or_silent<S: Server>(bench: &Bench<S>) {
    let before = bench.server.dump();
    let network = Proxy::before(bench.server.socket());
    let url = |limit: u32| {
        let options = format!("sslmode=disable&connect_timeout={limit}");
        format!("{}?{options}", bench.server.target_at(network.port()))
    };
    let (url, soon) = (url(3), url(1));

    let run = bench.at_work(&url);
    network.reset();
    bench.failed(run, &["single_row_commit: the connection was reset"]);
    assert_eq!(bench.server.dump(), before, "the server is there, and lets us in again");

    // Waiting for a connection has a time limit.
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
    bench.restored(&before);

    // A few connections block one by one; many are polled together.
    for clients in [3, 40] {
        let silent = null_calls(bench, &url, clients);
        network.be_silent(true);
        let said = interrupted(silent, PUT_BACK);
        assert!(!said.contains("still there"), "nothing was made: {said}");
        network.be_silent(false);
        wait_until("they are gone", || bench.server.sessions() == 0);

        let reset = null_calls(bench, &url, clients);
        network.reset();
        let output = reset.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("null_call: the connection was reset"), "{}", text(&output));
        wait_until("they are gone", || bench.server.sessions() == 0);
    }
}

fn null_calls<S: Server>(bench: &Bench<S>, url: &str, clients: u32) -> Child {
    let more = ["--threads", "1", "--clients", &clients.to_string()];
    let drive = ["drive", url, "--workload", "null_call", "--duration", "10m"];
    let drive = bench.spawn(&[&drive[..], &more].concat());
    wait_until("all clients are at work", || bench.server.sessions_at_work() >= clients);
    drive
}

pub fn loads_and_drives_are_interrupted_or_killed<S: Server>(bench: &Bench<S>) {
    let url = bench.url();
    let before = bench.server.dump();
    let load = || {
        let load = bench.spawn(&["load", &url, "tpcc", "--scale", "20"]);
        wait_until("a table is being filled", || bench.server.is_being_filled());
        load
    };
    let drive = || {
        let drive = ["drive", &url, "--workload", "newest_bounded", "--scale", "100"];
        let drive = bench.spawn(&[&drive[..], &["--duration", "10m", "--clients", "3"]].concat());
        wait_until("clients are at work", || bench.server.sessions_at_work() >= 3);
        drive
    };
    for begin in [&load as &dyn Fn() -> Child, &drive] {
        interrupted(begin(), PUT_BACK);
        assert!(!bench.has_promise());
        assert_eq!(bench.server.dump(), before);
        bench.killed(begin(), &before);
    }

    // Data that was loaded explicitly survives commands that use it.
    let small = ["load", &url, "archive_view", "--scale", "100"];
    let output = bench.hopcost(&small).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let loaded = bench.server.dump();
    assert_ne!(loaded, before);
    interrupted(drive(), PUT_BACK);
    let mut drive = drive();
    // A load refuses to replace data in use.
    let output = bench.hopcost(&small).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    assert!(text(&output).contains("another hopcost is at work"), "{}", text(&output));
    drive.kill().unwrap();
    drive.wait().unwrap();
    assert!(!bench.has_promise());
    assert_eq!(bench.server.dump(), loaded);
}
