//! What scripts rely on: checks and their exit codes, baselines, completions, manual pages.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod bench;
mod settled;

use std::fs;
use std::process::{Command, Output};

use bench::{Bench, FAR, json, stderr};
use rusqlite::Connection;
use serde_json::Value;
use settled::settled;

const JSON_DOC: &str = include_str!("../../../docs/JSON.md");

/// Of which the worst is looked for.
const SWEEP: &str = "\n[sweep]\nstreams = [1, 2]\n";

/// Eight units for each of the two bindings, in windows as short as a debug build can fill.
const SHORT: [&str; 5] = [
    "--quick",
    "--emulate=nodes=2,remote_ns=8000",
    "--set=units=8",
    "--set=window=40ms",
    "--set=guard=10ms",
];

impl Bench {
    fn new() -> Self {
        Self::with(&[("far.toml", FAR)])
    }

    /// With an experiment that looks for the worst of a sweep.
    fn sweeping() -> Self {
        Self::with(&[("far.toml", &format!("{FAR}find = \"worst\"\n{SWEEP}"))])
    }

    fn hopcost(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let all = [&["run", "far.toml"], &SHORT[..], arguments].concat();
        settled(&self.path("hopcost.db"), || self.hopcost(&all))
    }

    fn change(&self, sql: &str) {
        let store = Connection::open(self.path("hopcost.db")).unwrap();
        assert!(store.execute(sql, []).unwrap() > 0, "nothing to change");
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Ends with this code, and says each of these words on standard error.
#[track_caller]
fn ends(output: &Output, code: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}{}", stdout(output));
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

#[test]
fn a_check_decides_the_exit_code_and_a_report_can_be_checked_again() {
    let bench = Bench::new();
    let output = bench.run(&["--json", "--fail-if", "cost > 90%", "--fail-if", "cost < 90%"]);
    ends(&output, 4, &["--fail-if 'cost < 90%' is crossed: cost ", "lies below 90 %"]);
    assert!(!stderr(&output).contains("cost > 90%"), "{}", stderr(&output));
    assert_eq!(json(&output)["against"], Value::Null, "the document is whole all the same");
    let report = |check| bench.hopcost(&["report", "--fail-if", check]);
    ends(&report("cost > 90%"), 0, &[]);
    let both = "far: gain > -90% and verdict != REFUSED";
    ends(&report(both), 4, &[both, "lies above -90 %, and the verdict is"]);
    ends(&report("near: cost > 90%"), 1, &["could not be checked: this is 'far'"]);
    ends(&report("worse > 3%"), 1, &["could not be checked: there is no baseline"]);
    ends(&report("cost > 3"), 2, &["column 8", "write 3% or 0.03"]);
}

#[test]
fn a_refused_run_passes_no_check() {
    let bench = Bench::new();
    // It gives no right answer to a query.
    let output = bench.run(&["--target=null:", "--baseline=main", "--json"]);
    ends(&output, 1, &["the next one may be it"]);
    assert_eq!(json(&output)["against"], Value::Null, "it is no baseline");
    let report = |check| bench.hopcost(&["report", "--fail-if", check]);
    ends(&report("cost > 90%"), 1, &["could not be checked: the verdict is REFUSED"]);
    ends(&report("verdict = REFUSED"), 4, &["the verdict is REFUSED"]);
}

#[test]
fn what_can_never_be_checked_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| bench.hopcost(&[&["run", "--quick"], arguments].concat());
    let far = |check| run(&["far.toml", "--fail-if", check]);
    ends(&far("cots > 3%"), 2, &["column 1", "no figure 'cots'; known: cost, gain"]);
    ends(&far("cost > 3% or"), 2, &["column 13", "is missing"]);
    ends(&far("worse > 3%"), 2, &["--fail-if 'worse > 3%'", "give --baseline NAME"]);
    ends(&far("value > 250 ns"), 2, &["no value here", "write cost or gain"]);
    ends(&far("placebo: cost > 3%"), 2, &["about 'placebo', and 'far' is run"]);
    ends(&run(&["access-cost", "--fail-if", "cost > 3%"]), 2, &["write value"]);
    ends(&run(&["access-cost", "--baseline", "main"]), 2, &["hardware alone"]);
    ends(&run(&["far.toml", "--baseline", ""]), 2, &["--baseline"]);
    assert!(!bench.path("hopcost.db").exists(), "nothing was begun");
}

#[test]
fn a_machine_that_cannot_do_it_keeps_its_code() {
    let bench = Bench::new();
    let all = ["run", "far.toml", "--scale", "100000000000", "--fail-if", "cost > 3%"];
    ends(&bench.hopcost(&all), 3, &["could not be checked: the verdict is NOT_APPLICABLE"]);
}

#[test]
fn later_runs_stand_against_the_first_of_their_name() {
    let bench = Bench::sweeping();
    let main = |arguments: &[&str]| bench.run(&[&["--baseline=main"], arguments].concat());
    // The run that becomes the baseline is not worse than itself.
    let output = main(&["--json", "--fail-if", "worse > 0 or dearer > 0"]);
    ends(&output, 0, &[]);
    let first = json(&output);
    assert_eq!(first["against"]["is_first"], true, "{first}");
    assert_eq!(first["details"]["left_out"].as_array().unwrap().len(), 0);

    let output = main(&["--json", "--fail-if", "worse > 99%"]);
    ends(&output, 0, &[]);
    let second = json(&output);
    let against = &second["against"];
    assert_eq!((&against["run"], &against["is_first"]), (&1.into(), &false.into()));
    for figure in ["worse", "dearer"] {
        let [low, point, high] = ["low", "point", "high"].map(|end| against[figure][end].as_f64());
        assert!(low < point && point < high && point.unwrap().abs() < 0.9, "{against}");
    }
    for key in against.as_object().unwrap().keys() {
        assert!(JSON_DOC.contains(&format!("`{key}`")), "docs/JSON.md does not know {key}");
    }
    assert!(against["notes"][0].as_str().unwrap().contains("two starts"), "{against}");
    // The point that was the worst then is the only one now.
    let reported = |result: &Value| {
        let points = result["details"]["points"].as_array().unwrap().clone();
        points.into_iter().filter(|point| point["exploratory"] == false).collect::<Vec<_>>()
    };
    assert_eq!(second["details"]["points"].as_array().unwrap().len(), 1);
    assert_eq!(reported(&first)[0]["streams"], reported(&second)[0]["streams"]);
    assert!(second["details"]["left_out"][0].as_str().unwrap().contains("baseline 'main' (run 1)"));

    // The same from the store, to the last digit.
    assert_eq!(json(&bench.hopcost(&["report", "--json"])), second);
    let text = stdout(&bench.hopcost(&["report"]));
    assert!(text.contains("against main (run 1 of 20") && text.contains("two starts"), "{text}");

    ends(&main(&["--set=margin=5%"]), 2, &["it is run 1 in hopcost.db", "differs in", "--set"]);
    let next = json(&bench.run(&["--baseline=next", "--json"]));
    assert_eq!(next["against"]["is_first"], true, "another name is another baseline");
}

#[test]
fn what_was_lost_since_the_baseline_is_found() {
    let bench = Bench::new();
    let main = |arguments: &[&str]| bench.run(&[&["--baseline=main"], arguments].concat());
    ends(&main(&[]), 0, &[]);
    // As if it had been four times as fast.
    for window in 0..4 {
        let rate = format!("'$.windows[{window}].rate'");
        bench.change(&format!(
            "UPDATE block SET record = json_set(record, {rate}, 4 * (record ->> {rate}))"
        ));
    }
    let output = main(&["--json", "--fail-if", "worse > 40%", "--fail-if", "worse < 40%"]);
    ends(&output, 4, &["'worse > 40%' is crossed: worse ", "lies above 40 %"]);
    bench.change("UPDATE run SET machine = json_set(machine, '$.kernel', '2.6.32') WHERE id = 1");
    let notes = json(&main(&["--json"]))["against"]["notes"].to_string();
    assert!(notes.contains("the baseline's kernel was 2.6.32"), "{notes}");
    bench.change("UPDATE run SET machine = json_set(machine, '$.processor', '386') WHERE id = 1");
    let output = main(&["--fail-if", "worse > 40%"]);
    ends(&output, 1, &["could not be checked", "measured on another processor: 386"]);
    assert!(stdout(&output).contains("nothing is compared"), "{}", stdout(&output));
}

#[test]
fn shells_learn_every_command_and_the_experiments() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&bench.hopcost(&["completions", shell]));
        for word in ["remote-memory", "access-cost", "fail-if", "restore", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if shell == "fish" {
            // Our own lines call a function of the generated ones.
            assert!(script.contains("function __fish_hopcost_using_subcommand"), "{script}");
        }
        fs::write(bench.path(shell), script).unwrap();
        // Only where that shell is installed.
        if let Ok(checked) = Command::new(shell).arg("-n").arg(bench.path(shell)).output() {
            assert!(checked.status.success(), "{}", stderr(&checked));
        }
    }
    ends(&bench.hopcost(&["completions", "tcsh"]), 2, &["bash, zsh, fish"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let bench = Bench::new();
    let output = bench.hopcost(&["man", "pages/of/man1"]);
    ends(&output, 0, &[]);
    let page = |name: &str| fs::read_to_string(bench.path("pages/of/man1").join(name)).unwrap();
    let all = page("hopcost.1");
    let help = stdout(&bench.hopcost(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands = commands.filter_map(|line| line.strip_prefix("  "));
    // What goes on in the next line stands further to the right.
    let names = commands.filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(all.contains(&format!("hopcost\\-{name}(1)")), "{name}");
        let file = format!("hopcost-{name}.1");
        assert!(page(&file).contains("SYNOPSIS"), "{file}");
        let path = bench.path("pages/of/man1").join(file);
        let groff = ["-man", "-ww", "-z", "-k", "-Tutf8"];
        if let Ok(checked) = Command::new("groff").args(groff).arg(path).output() {
            assert!(checked.status.success() && checked.stderr.is_empty(), "{}", stderr(&checked));
        }
    }
    assert!(page("hopcost-run.1").contains("dearer"), "the grammar of checks is in it");
    ends(&bench.hopcost(&["man", "/proc/pages"]), 1, &["/proc/pages"]);
}
