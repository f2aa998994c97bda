//! Slow tests of code that rarely breaks: more kills, full disks, policies.

use std::fs;
use std::process::{Command, Stdio};

use hopcost_sys::{Root, processes};
use hopcost_testkit::kept::kept;

use crate::bench::{Bench, SHORT, ends, is_over, json, stderr, stdout, wait_until};
use crate::runs::{bench, goes_on_after_kills};

#[test]
fn a_run_that_is_killed_ten_times_goes_on_to_its_end() {
    let begun = ["count(*) FROM run", "count(preparation) FROM run"].map(str::to_owned);
    let blocks =
        [1, 2, 3, 5, 7, 9, 11, 13].map(|blocks| format!("count(*) >= {blocks} FROM block"));
    let moments: Vec<&str> = begun.iter().chain(&blocks).map(String::as_str).collect();
    goes_on_after_kills(&moments);
}

/// What is typed after `hopcost`; two spaces begin a remark.
fn examples_of(command: &str, bench: &Bench) -> Vec<String> {
    let help = stdout(&bench.hopcost(&[command, "--help"]));
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().filter_map(|line| line.trim().strip_prefix("hopcost "));
    lines.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

/// Of a survey, see `../alone/survey.rs`.
#[test]
fn examples_in_help_can_be_typed() {
    let bench = Bench::with(&[]);
    let mut number = 0;
    // There may be something to fix, or no server. What measures for long is not tried here.
    for (command, may_end_with) in [
        ("machine", &[0][..]),
        ("doctor", &[0, 1]),
        ("where", &[0, 3]),
        ("list", &[0]),
        ("plan", &[0]),
        ("load", &[0]),
        ("drive", &[0]),
        ("restore", &[0]),
    ] {
        for line in examples_of(command, &bench) {
            let output = bench.shell(&format!("hopcost {line}"));
            let code = output.status.code().unwrap();
            assert!(may_end_with.contains(&code), "{line} ended with {code}: {}", stderr(&output));
            number += 1;
        }
    }
    assert!(number > 14, "{number}");
    for file in ["machine.svg", "host.tree"] {
        assert!(bench.path(file).exists(), "{file}");
    }
}

/// `nohup` ignores hang-ups, and what it starts goes on.
#[test]
fn a_closed_terminal_interrupts_unless_that_is_ignored() {
    let bench = Bench::with(&[]);
    let hopcost = env!("CARGO_BIN_EXE_hopcost");
    // Whoever runs the tests may ignore them, too.
    for (signal, code) in [("--default-signal=HUP", 130), ("--ignore-signal=HUP", 0)] {
        let mut probe = Command::new("env");
        probe.args([signal, hopcost, "probe", "switch", "--quick", "--accept-gaps"]);
        probe.current_dir(bench.path("")).env("NO_COLOR", "1");
        let child = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A start is a child.
        wait_until("it measures", || {
            let all = processes::read(&Root::live());
            all.get().is_some_and(|all| all.tree(child.id()).len() > 1)
        });
        let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
        assert!(sent.success(), "it ended before");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}: {}", stderr(&output));
    }
}

/// On two emulated nodes, each policy's and each instance's placement is verified, whatever the
/// verdict.
#[test]
fn policies_and_instances_prove_where_everything_was() {
    for (name, text, claims) in [
        ("policies", include_str!("../../../../experiments/memory-policy.toml"), 6),
        ("instances", include_str!("../../../../experiments/instances.toml"), 5),
    ] {
        let file = format!("{name}.toml");
        let bench = Bench::with(&[(&file, &text.replace("reporting_p1", "reporting_p2"))]);
        let output = bench
            .command(&["run", &file, "--json", "--quick", "--scale=20000", "--set=units=8"])
            .args(["--set=streams=2", "--set=window=20ms", "--set=guard=5ms", "--budget=1s"])
            .arg("--emulate=nodes=2,remote_ns=300")
            .output()
            .unwrap();
        let result = json(&output);
        let proof = result["proof"].as_array().unwrap();
        assert_eq!(proof.len(), claims, "{proof:?}");
        assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
        assert_eq!(result["emulated"], true);
    }
}

#[test]
fn a_truncated_data_set_is_noticed_and_made_anew() {
    let bench = bench();
    let run = || {
        let mut run = bench.command(&[&["run", "far.toml", "--budget=1s"], &SHORT[..]].concat());
        is_over(&run.env("XDG_CACHE_HOME", bench.path("cache")).output().unwrap());
    };
    run();
    let cached = fs::read_dir(bench.path("cache/hopcost")).unwrap().map(|entry| entry.unwrap());
    let file =
        cached.map(|entry| entry.path()).find(|p| p.extension().unwrap() == "sqlite").unwrap();
    let length = fs::metadata(&file).unwrap().len();
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    run();
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
}

#[test]
fn a_store_that_cannot_grow_loses_nothing_that_was_finished() {
    let bench = bench();
    let all = [&["run", "far.toml"], &SHORT[..]].concat();
    is_over(&bench.hopcost(&[&all[..], &["--budget=1s"]].concat()));
    let before = bench.count("SELECT count(*) FROM block");
    let size = fs::metadata(bench.path("hopcost.db")).unwrap().len();
    // A file size limit acts like a full disk.
    let limit = (size + 40_000) / 512;
    let hopcost = env!("CARGO_BIN_EXE_hopcost");
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {hopcost} {}", all.join(" "));
    let mut limited = Command::new("sh");
    limited.args(["-c", &script]).current_dir(bench.path(".")).env("XDG_CACHE_HOME", kept());
    let output = limited.output().unwrap();
    ends(&output, 1, &["hopcost.db", "could not be written", "is kept"]);
    assert_eq!(bench.count("SELECT count(*) FROM block WHERE run_id = 1"), before);
    let integrity: String =
        bench.store().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
}
