//! Several starts of one run or probe: processes begun anew.

use std::path::Path;
use std::process::Stdio;

use hopcost_sys::{Root, processes};
use serde_json::Value;

use crate::bench::{Bench, FAR, SHORT, ends, json, stderr, stdout, wait_until};

const SEVERAL: [&str; 3] = ["--starts=6", "--set=units=2", "--set=half_width=0.01%"];

fn bench() -> Bench {
    Bench::with(&[("far.toml", FAR)])
}

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    // The last --set of a key counts.
    [&["run", "far.toml"], &SHORT[..], &SEVERAL, more].concat()
}

#[test]
fn each_start_is_a_process_and_the_last_one_concludes() {
    let bench = bench();
    let output = bench.hopcost(&arguments(&["--json"]));
    let result = json(&output);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    assert_eq!(bench.count("SELECT count(*) FROM run"), 1);
    let placebos = bench.count("SELECT count(*) FROM block WHERE phase = 'placebo'");
    assert!(placebos >= 6, "one for each start: {placebos}");
    if result["verdict"] == "COST" {
        let starts = &result["details"]["starts"];
        assert_eq!((&starts["n"], &starts["units"]), (&Value::from(6), &Value::from(2)));
        assert_eq!(starts["costs"].as_array().unwrap().len(), 6);
        let text = stdout(&bench.hopcost(&["report"]));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("with 6 starts") && text.contains("6: starts d"), "{text}");
        assert!(!text.contains("within this start") && !text.contains("--one-start"), "{text}");
    }
    ends(&bench.hopcost(&arguments(&["--resume"])), 2, &["no unfinished run"]);
}

#[test]
fn a_cut_start_is_measured_anew_and_complete_ones_stay() {
    let bench = bench();
    let mut command = bench.command(&arguments(&[]));
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // In the third start.
    let moment = "count(*) >= 2 AND max(number) > (SELECT max(number) FROM block WHERE phase = \
                  'placebo') + 1 FROM (SELECT number FROM block)";
    let second = "count(*) >= 2 FROM block WHERE phase = 'placebo'";
    wait_until("the second start is complete", || bench.has(second));
    wait_until("the third start has begun", || {
        bench.has(moment) || run.try_wait().unwrap().is_some()
    });
    assert!(run.try_wait().unwrap().is_none(), "it ended before it was killed");
    let mut starts = processes::read(&Root::live()).get().unwrap().tree(run.id());
    starts.remove(&run.id());
    assert!(!starts.is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    // The kernel ends the start with its parent.
    let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}/exe")).exists();
    wait_until("the start has ended", || !starts.iter().any(is_there));
    let unchecked = bench.hopcost(&["report", "--fail-if", "cost > 90%"]);
    ends(&unchecked, 1, &["was not finished"]);
    let complete = "SELECT group_concat(record) FROM block WHERE number <= (SELECT number FROM block \
                    WHERE phase = 'placebo' ORDER BY number LIMIT 1 OFFSET 1)";
    let read = || -> String { bench.store().query_row(complete, [], |row| row.get(0)).unwrap() };
    let before = read();
    let output = bench.hopcost(&arguments(&["--resume", "--json"]));
    assert!(json(&output)["verdict"].is_string(), "{}", stderr(&output));
    assert_eq!(read(), before);
    assert_eq!(bench.count("SELECT count(*) FROM run"), 1);
}

#[test]
fn what_cannot_be_begun_anew_says_so() {
    let bench = bench();
    let run = |name: &str, more: &[&str]| {
        bench.hopcost(&[&["run", name, "--quick", "--starts=8"], more].concat())
    };
    ends(&run("smt-stability", &[]), 2, &["--starts", "spreads within one start"]);
    let existing = ["--target=postgres://nobody@127.0.0.1:1/none"];
    ends(&run("placebo", &existing), 2, &["--starts", "postgres:managed"]);
    let few = bench.hopcost(&["run", "placebo", "--starts=3"]);
    ends(&few, 2, &["1, or 6 to 100"]);
}
