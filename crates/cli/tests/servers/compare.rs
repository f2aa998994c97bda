//! `hopcost compare` on stores.

use std::cell::Cell;
use std::fs;
use std::process::Output;

use rusqlite::Connection;
use serde_json::{Value, json as value};

use crate::bench::{Bench, FAR, SHORT, SURVEY, json, stderr, stdout};
use crate::documented::assert_documented;
use crate::expected::is_alike;
use crate::simulated::Gives;

fn bench() -> Bench {
    Bench::with(&[("far.toml", FAR)])
}

#[track_caller]
fn ends(output: &Output, code: i32, words: &[&str]) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

#[test]
fn what_distance_costs_is_held_against_what_it_costs_elsewhere() {
    let bench = bench();
    for (store, cost) in [("a.db", 0.3), ("alike.db", 0.3), ("b.db", 0.8)] {
        let arguments = [&["far.toml"], &SHORT[..]].concat();
        ends(&bench.simulate(store, &arguments, Gives { rate: 50.0, cost }), 0, &[]);
    }
    let output = bench.hopcost(&["compare", "a.db", "alike.db", "--json"]);
    ends(&output, 0, &[]);
    is_alike(&json(&output));

    bench.change("b.db", ["run", "machine"], |machine| machine["kernel"] = "2.6.32".into());
    let dearer = json(&bench.hopcost(&["compare", "a.db", "b.db", "--json"]));
    assert_eq!(dearer["effects"][0]["likeness"], "DIFFERENT", "{dearer}");
    assert!(dearer["found"].as_str().unwrap().contains("“far” of far costs +50.0%"), "{dearer}");
    assert!(dearer["explained_by"].to_string().contains("/ 2.6.32)"), "{dearer}");

    bench.change("b.db", ["run", "identity"], |identity| identity["rows"] = 7.into());
    let output = bench.hopcost(&["compare", "a.db", "b.db"]);
    ends(&output, 3, &["the two runs differ in --scale", "Nothing could be compared"]);
}

#[test]
fn figures_of_the_hardware_are_compared_cell_by_cell() {
    let bench = bench();
    bench.keep_figures("a.db", &[10.0, 10.0]);
    bench.keep_figures("alike.db", &[10.0, 10.0]);
    bench.keep_figures("b.db", &[15.0, 10.0]);
    let output = bench.hopcost(&["compare", "a.db:1", "alike.db:switches", "--json"]);
    ends(&output, 0, &[]);
    let alike = json(&output);
    assert_documented(&alike);
    let cells = alike["cells"].as_array().unwrap();
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell["likeness"] != "DIFFERENT"));
    let output = bench.hopcost(&["compare", "1", "b.db", "--store", "a.db"]);
    ends(&output, 0, &["B is slower in 1 of", "DIFFERENT", "is slower on B: 50% (", "higher"]);
}

const EXPERIMENTS: [&str; 4] = ["access-cost", "bounded-max", "log-distance", "server-score"];

/// One run of a real survey.
fn surveyed(bench: &Bench, experiment: &str) {
    fs::copy(SURVEY, bench.path("one.db")).unwrap();
    let store = Connection::open(bench.path("one.db")).unwrap();
    store.execute("DELETE FROM run WHERE experiment <> ?1", [experiment]).unwrap();
}

fn shared(bench: &Bench) -> String {
    let arguments = ["report", "--store", "one.db", "--format", "share=shared.json"];
    ends(&bench.hopcost(&arguments), 0, &[]);
    fs::read_to_string(bench.path("shared.json")).unwrap()
}

#[test]
fn what_is_shared_compares_as_its_store_does() {
    let bench = bench();
    for experiment in EXPERIMENTS {
        surveyed(&bench, experiment);
        assert_documented(&serde_json::from_str(&shared(&bench)).unwrap());
        let compared = |a: &str| json(&bench.hopcost(&["compare", a, "one.db", "--json"]));
        let (shared, stored) = (compared("shared.json"), compared("one.db"));
        let pairs = ["cells", "scores", "effects"];
        assert!(pairs.iter().any(|key| stored[key] != value!([])), "{stored}");
        for key in pairs {
            assert_eq!(shared[key], stored[key], "{experiment}");
        }
    }
    let output = bench.hopcost(&["compare", "shared.json:7", "one.db"]);
    ends(&output, 2, &["there is no run for 'shared.json:7'"]);
    fs::write(bench.path("shared.json"), "{}").unwrap();
    let output = bench.hopcost(&["compare", "shared.json", "one.db"]);
    ends(&output, 2, &["not what 'hopcost report --format share' writes"]);
}

#[test]
fn nobody_is_named_in_what_is_shared() {
    let bench = bench();
    let planted = Cell::new(0);
    let plant = || Value::from(format!("planted-{}", planted.replace(planted.get() + 1)));
    for experiment in EXPERIMENTS {
        surveyed(&bench, experiment);
        bench.change("one.db", ["run", "machine"], |machine| {
            machine["host"] = plant();
            machine["limits"]["cgroup"] = plant();
            machine["kernel"] = format!("Linux 6.1.0-{}", plant().as_str().unwrap()).into();
            machine["devices"][0] = value!({"name": plant(), "kind": "nvme", "node": 0});
            machine["notes"] = value!([plant()]);
            machine["cpus"][0]["kind"] = value!({"missing": plant(), "code": "missing.not_told"});
        });
        bench.change("one.db", ["run", "result"], |result| {
            result["question"] = plant();
            result["reason"] = plant();
            if result["target"].is_string() {
                result["target"] = format!("postgres://{}@host/", plant().as_str().unwrap()).into();
            }
            if let Some(details) = result["details"].as_object_mut() {
                details["identity"] = plant();
                for list in ["plans", "left_out", "notes"] {
                    details[list] = value!([plant()]);
                }
                details["arms"][0]["first_error"] = plant();
                details["arms"][0]["observed"] =
                    value!([{"metric": "m", "of": plant(), "value": 1.0}]);
            }
        });
        let shared = shared(&bench);
        assert!(!shared.contains("planted-"), "{experiment}: {shared}");
    }
    assert!(planted.get() > 40, "{}", planted.get());
}

#[test]
fn who_is_not_there_is_said_and_who_has_nothing_in_common() {
    let bench = bench();
    bench.keep_figures("a.db", &[10.0]);
    ends(&bench.hopcost(&["compare", "a.db", "no.db"]), 1, &["no.db", "no store here"]);
    let unknown = ["there is no finished run for 'a.db:7'", "stored are 1 (switches)"];
    ends(&bench.hopcost(&["compare", "a.db", "a.db:7"]), 2, &unknown);
    ends(&bench.hopcost(&["compare", "a.db", "far", "--store", "a.db"]), 2, &["for 'far'"]);
    ends(&bench.hopcost(&["compare", "a.db"]), 2, &["<B>"]);
    fs::copy(bench.path("a.db"), bench.path("b.db")).unwrap();
    let store = Connection::open(bench.path("b.db")).unwrap();
    store.execute("DELETE FROM probe_report", []).unwrap();
    let output = bench.hopcost(&["compare", "a.db", "b.db"]);
    ends(&output, 3, &["Nothing could be compared", "missing, because B has no run of it"]);
}
