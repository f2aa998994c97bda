//! Interfaces for scripts: checks, exit codes, baselines, completions and manual pages.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::bench::{Bench, FAR, SHORT, SWEEP, ends, json, stderr, stdout};
use crate::expected::{is_at_the_worst_of_the_first, is_held_against_the_first};
use crate::simulated::Gives;

fn bench() -> Bench {
    Bench::with(&[("far.toml", FAR)])
}

/// On a simulated machine where distance costs 30%.
fn run(bench: &Bench, arguments: &[&str]) -> Output {
    run_at(50.0, bench, arguments)
}

fn run_at(rate: f64, bench: &Bench, arguments: &[&str]) -> Output {
    let all = [&["far.toml"], &SHORT[..], arguments].concat();
    bench.simulate("hopcost.db", &all, Gives { rate, cost: 0.3 })
}

#[test]
fn a_check_decides_the_exit_code_and_a_report_can_be_checked_again() {
    let bench = bench();
    let checks = ["--json", "--fail-if", "cost > 90%", "--fail-if", "cost < 90%"];
    let output = run(&bench, &checks);
    ends(&output, 4, &["--fail-if 'cost < 90%' is crossed: cost ", "is below 90%"]);
    assert!(!stderr(&output).contains("cost > 90%"), "{}", stderr(&output));
    assert_eq!(json(&output)["against"], Value::Null, "the document is whole all the same");
    let report = |check| bench.hopcost(&["report", "--fail-if", check]);
    ends(&report("cost > 90%"), 0, &[]);
    let both = "far: gain > -90% and verdict != REFUSED";
    ends(&report(both), 4, &[both, "is above -90%, and the verdict is"]);
    ends(&report("near: cost > 90%"), 1, &["could not be checked: this is 'far'"]);
    ends(&report("worse > 3%"), 1, &["could not be checked: there is no baseline"]);
    ends(&report("cost > 3"), 2, &["column 8", "write 3% or 0.03"]);
}

#[test]
fn a_refused_run_passes_no_check() {
    let bench = bench();
    // The null target gives no correct answer to a query.
    let null = ["--target=null:", "--budget=1s", "--baseline=main", "--json"];
    let output = bench.hopcost(&[&["run", "far.toml"], &SHORT[..], &null].concat());
    ends(&output, 1, &["the next one may be it"]);
    assert_eq!(json(&output)["against"], Value::Null, "it is no baseline");
    let report = |check| bench.hopcost(&["report", "--fail-if", check]);
    ends(&report("cost > 90%"), 1, &["could not be checked: the verdict is REFUSED"]);
    ends(&report("verdict = REFUSED"), 4, &["the verdict is REFUSED"]);
}

#[test]
fn what_can_never_be_checked_is_refused_before_anything_runs() {
    let bench = bench();
    let run = |arguments: &[&str]| bench.hopcost(&[&["run", "--quick"], arguments].concat());
    let far = |check| run(&["far.toml", "--fail-if", check]);
    ends(&far("cots > 3%"), 2, &["column 1", "no figure 'cots'; known: cost, gain"]);
    ends(&far("cost > 3% or"), 2, &["column 13", "is missing"]);
    ends(&far("worse > 3%"), 2, &["--fail-if 'worse > 3%'", "takes --baseline NAME"]);
    ends(&far("value > 250 ns"), 2, &["no value here", "write cost or gain"]);
    ends(&far("placebo: cost > 3%"), 2, &["about 'placebo', and 'far' is run"]);
    ends(&run(&["access-cost", "--fail-if", "cost > 3%"]), 2, &["write value"]);
    ends(&run(&["access-cost", "--baseline", "main"]), 2, &["hardware alone"]);
    ends(&run(&["far.toml", "--baseline", ""]), 2, &["--baseline"]);
    let survey = |check| bench.hopcost(&["survey", "--fail-if", check]);
    ends(&survey("worse > 3%"), 2, &["--fail-if 'worse > 3%'", "takes --baseline NAME"]);
    ends(&survey("far: cost > 3%"), 2, &["'far' is not part of a survey"]);
    assert!(!bench.path("hopcost.db").exists(), "nothing was begun");
}

#[test]
fn a_machine_that_cannot_do_it_keeps_its_code() {
    let bench = bench();
    let all = ["run", "far.toml", "--scale", "100000000000", "--fail-if", "cost > 3%"];
    ends(&bench.hopcost(&all), 3, &["could not be checked: the verdict is NOT_APPLICABLE"]);
}

#[test]
fn later_runs_stand_against_the_first_of_their_name() {
    let bench = Bench::with(&[("far.toml", &format!("{FAR}{SWEEP}"))]);
    let main = |arguments: &[&str]| run(&bench, &[&["--baseline=main"], arguments].concat());
    // The run that becomes the baseline equals itself.
    let output = main(&["--json", "--fail-if", "worse > 0 or dearer > 0"]);
    ends(&output, 0, &[]);
    let first = json(&output);
    assert_eq!(first["against"]["is_first"], true, "{first}");
    assert_eq!(first["details"]["left_out"].as_array().unwrap().len(), 0);

    let output = main(&["--json", "--fail-if", "worse > 99%"]);
    ends(&output, 0, &[]);
    let second = json(&output);
    is_held_against_the_first(&second);
    is_at_the_worst_of_the_first(&second, &first);
    assert_eq!(second["details"]["points"][0]["streams"], 2, "it costs most");

    assert_eq!(json(&bench.hopcost(&["report", "--json"])), second);
    let text = stdout(&bench.hopcost(&["report"]));
    assert!(text.contains("against main (run 1 of 20") && text.contains("two runs"), "{text}");

    let other = [&["run", "far.toml"], &SHORT[..], &["--baseline=main", "--set=margin=5%"]];
    let output = bench.hopcost(&[&other.concat()[..], &["--json"]].concat());
    assert_eq!(json(&output)["failure"]["reason_code"], "usage.baseline");
    ends(&output, 2, &["it is run 1 in hopcost.db", "differs in", "--set"]);
    let next = json(&run(&bench, &["--baseline=next", "--json"]));
    assert_eq!(next["against"]["is_first"], true, "another name is another baseline");
}

#[test]
fn what_was_lost_since_the_baseline_is_found() {
    let bench = bench();
    let main = |rate: f64, arguments: &[&str]| {
        run_at(rate, &bench, &[&["--baseline=main"], arguments].concat())
    };
    ends(&main(80.0, &[]), 0, &[]);
    let output = main(20.0, &["--json", "--fail-if", "worse > 40%", "--fail-if", "worse < 40%"]);
    ends(&output, 4, &["'worse > 40%' is crossed: worse ", "is above 40%"]);
    let worse = json(&output)["against"]["worse"]["point"].as_f64().unwrap();
    assert!((worse - 0.75).abs() < 0.01, "{worse}");
    let was_measured_on = |key: &str, value: &str| {
        let sql = "UPDATE run SET machine = json_set(machine, ?1, ?2) WHERE id = 1";
        assert_eq!(bench.store().execute(sql, [key, value]).unwrap(), 1);
    };
    was_measured_on("$.kernel", "2.6.32");
    let notes = json(&main(20.0, &["--json"]))["against"]["notes"].to_string();
    assert!(notes.contains("the baseline's kernel was 2.6.32"), "{notes}");
    was_measured_on("$.processor", "386");
    let output = main(20.0, &["--fail-if", "worse > 40%"]);
    ends(&output, 1, &["could not be checked", "measured on another processor: 386"]);
    assert!(stdout(&output).contains("nothing is compared"), "{}", stdout(&output));
}

fn needed(program: &str) -> String {
    format!("this test needs {program}: apt-get install zsh fish groff")
}

#[test]
fn shells_learn_every_command_and_the_experiments() {
    let bench = bench();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&bench.hopcost(&["completions", shell]));
        for word in ["remote-memory", "access-cost", "fail-if", "restore", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if shell == "fish" {
            assert!(script.contains("function __fish_hopcost_using_subcommand"), "{script}");
        }
        fs::write(bench.path(shell), script).unwrap();
        let checked = Command::new(shell).arg("-n").arg(bench.path(shell)).output();
        let checked = checked.unwrap_or_else(|_| panic!("{}", needed(shell)));
        assert!(checked.status.success(), "{}", stderr(&checked));
    }
    ends(&bench.hopcost(&["completions", "tcsh"]), 2, &["bash, zsh, fish"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let bench = bench();
    let output = bench.hopcost(&["man", "pages/of/man1"]);
    ends(&output, 0, &[]);
    let page = |name: &str| fs::read_to_string(bench.path("pages/of/man1").join(name)).unwrap();
    let all = page("hopcost.1");
    let help = stdout(&bench.hopcost(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands = commands.filter_map(|line| line.strip_prefix("  "));
    // Continuation lines are indented further.
    let names = commands.filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(all.contains(&format!("hopcost\\-{name}(1)")), "{name}");
        let file = format!("hopcost-{name}.1");
        assert!(page(&file).contains("SYNOPSIS"), "{file}");
        let path = bench.path("pages/of/man1").join(file);
        let groff = ["-man", "-ww", "-z", "-k", "-Tutf8"];
        let checked = Command::new("groff").args(groff).arg(path).output();
        let checked = checked.unwrap_or_else(|_| panic!("{}", needed("groff")));
        assert!(checked.status.success() && checked.stderr.is_empty(), "{}", stderr(&checked));
    }
    assert!(page("hopcost-run.1").contains("dearer"), "the grammar of checks is in it");
    ends(&bench.hopcost(&["man", "/proc/pages"]), 1, &["/proc/pages"]);
}
