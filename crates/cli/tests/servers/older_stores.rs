//! Stores of earlier versions, one for each schema: `fixtures/stores`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use hopcost_testkit::named::machine;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::at_work::interrupted;
use crate::bench::{Bench, ends, is_over, json, stdout, wait_until};
use crate::documented::assert_documented;
use crate::simulated::Gives;

const SAME: &str = include_str!("../../../../fixtures/stores/same.toml");
const STORES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/stores");

/// Arguments of both stored comparisons, which differ in their seed.
const ASKED: [&str; 7] = [
    "run",
    "same.toml",
    "--quick",
    "--emulate=nodes=1",
    "--set=units=8",
    "--set=window=40ms",
    "--set=guard=10ms",
];
const AGAIN: [&str; 3] = ["--seed=2", "--resume", "--json"];

const UNFINISHED: i64 = 3;

fn name(schema: i64) -> String {
    format!("schema-{schema}.db")
}

fn bench() -> Bench {
    let bench = Bench::with(&[]);
    for name in (1..=5).map(name) {
        fs::copy(Path::new(STORES).join(&name), bench.path(&name)).unwrap();
    }
    bench
}

/// With a copy edited so that this machine is the one that measured. The schema stays.
fn measured_here(schema: i64) -> Bench {
    let bench = Bench::with(&[("same.toml", SAME)]);
    fs::copy(Path::new(STORES).join(name(schema)), bench.path("hopcost.db")).unwrap();
    let store = bench.store();
    let host = machine().host.get();
    let document = serde_json::to_string(machine()).unwrap();
    store.execute("UPDATE run SET host = ?1, machine = ?2", params![host, document]).unwrap();
    if schema > 4 {
        store.execute("UPDATE run SET host_key = NULL", []).unwrap();
    }
    let cpus = serde_json::to_string(&machine().limits.cpus).unwrap();
    // The first schema has neither.
    for (column, key) in [("identity", "cpus"), ("preparation", "workers")] {
        let sql = format!("UPDATE run SET {column} = replace({column}, ?1, ?2)");
        let [then, now] = ["[0,1]", &cpus].map(|cpus| format!("\"{key}\":{cpus}"));
        if schema > 1 {
            store.execute(&sql, [then, now]).unwrap();
        }
    }
    bench
}

fn blocks(bench: &Bench, run: i64) -> Vec<String> {
    let store = bench.store();
    let sql = "SELECT record FROM block WHERE run_id = ?1 ORDER BY number";
    let mut statement = store.prepare(sql).unwrap();
    let records = statement.query_map([run], |row| row.get(0)).unwrap();
    records.collect::<Result<_, _>>().unwrap()
}

fn files(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let all = fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap());
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    let mut files: Vec<_> = all.map(read).collect();
    files.sort();
    files
}

#[test]
fn a_store_of_each_schema_is_read_and_stays_as_it_is() {
    let bench = bench();
    bench.keep_figures(&name(6), &[80.5]);
    let before = files(&bench);
    for schema in 1..=6 {
        let name = name(schema);
        let store = Connection::open(bench.path(&name)).unwrap();
        let is_of: i64 = store.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(is_of, schema);
        let mut runs =
            store.prepare("SELECT id, coalesce(verdict, 'INCONCLUSIVE') FROM run").unwrap();
        let runs = runs.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        for (run, verdict) in runs.collect::<Result<Vec<(i64, String)>, _>>().unwrap() {
            let run = run.to_string();
            let report = |form| {
                let output = bench.hopcost(&["report", &run, "--store", &name, form]);
                ends(&output, 0, &[]);
                output
            };
            assert_documented(&json(&report("--json")));
            let csv = stdout(&report("--csv"));
            assert!(csv.contains(&format!(",{verdict},")), "run {run} of {name}: {csv}");
            assert!(stdout(&report("--markdown")).starts_with("**"), "run {run} of {name}");
        }
    }
    assert_eq!(files(&bench), before, "reading changes nothing, and leaves nothing");
}

#[test]
fn stores_of_all_schemas_are_compared_and_stay_as_they_are() {
    let bench = bench();
    let before = files(&bench);
    for schema in 1..=3 {
        let output = bench.hopcost(&["compare", &name(schema), "schema-4.db", "--json"]);
        ends(&output, 0, &[]);
        let compared = json(&output);
        assert_documented(&compared);
        // The first schema has no comparisons, and the others too few figures for intervals.
        let found = if schema == 1 { "cells" } else { "effects" };
        assert!(!compared[found].as_array().unwrap().is_empty(), "{compared}");
    }
    assert_eq!(files(&bench), before, "reading changes nothing, and leaves nothing");
}

#[test]
fn what_a_store_of_the_fourth_schema_says_is_what_it_said() {
    let bench = bench();
    let report = |run: &str, form: &str| {
        stdout(&bench.hopcost(&["report", run, form, "--store", "schema-4.db"]))
    };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../fixtures/goldens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!("report-json", report("2", "--json"));
        insta::assert_snapshot!("report-csv", report("1", "--csv") + &report("2", "--csv"));
    });
}

fn goes_on(schema: i64) {
    let bench = measured_here(schema);
    let kept = blocks(&bench, UNFINISHED);
    let output = bench.hopcost(&[&ASKED[..], &AGAIN].concat());
    is_over(&output);
    assert_eq!(json(&output)["run"], UNFINISHED);
    let whole = blocks(&bench, UNFINISHED);
    assert!(whole.len() > kept.len());
    assert_eq!(whole[..kept.len()], kept, "what was measured stays as it was");
    assert_eq!(bench.count("SELECT count(*) FROM run"), UNFINISHED);
}

#[test]
fn a_run_of_the_second_schema_goes_on() {
    goes_on(2);
}

#[test]
fn a_run_of_the_third_schema_goes_on() {
    goes_on(3);
}

#[test]
fn a_run_of_the_fourth_schema_goes_on() {
    goes_on(4);
}

#[test]
fn a_run_of_the_fifth_schema_goes_on() {
    goes_on(5);
}

/// The first schema stored no resumable runs.
#[test]
fn a_store_of_the_first_schema_has_nothing_to_go_on_with() {
    let output = measured_here(1).hopcost(&[&ASKED[..], &AGAIN].concat());
    ends(&output, 2, &["no unfinished run"]);
}

/// Neither on a host of another name, nor with another processor.
#[test]
fn a_run_of_another_host_stays_as_it_is() {
    for (schema, elsewhere, whose) in [
        (2, "host = 'elsewhere'", "elsewhere"),
        (3, "machine = json_set(machine, '$.processor', '386')", ""),
        (4, "host = 'elsewhere'", "elsewhere"),
        (5, "host = 'elsewhere'", "elsewhere"),
    ] {
        let bench = measured_here(schema);
        bench.store().execute(&format!("UPDATE run SET {elsewhere}"), []).unwrap();
        let kept = blocks(&bench, UNFINISHED);
        let mut command = bench.command(&[&ASKED[..], &AGAIN].concat());
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("it has a block of its own", || bench.has("max(run_id) > 3 FROM block"));
        let said = interrupted(run, 130);
        let told = format!("run 3 in hopcost.db was begun on {whose}");
        assert!(said.contains(&told) && said.contains("a run of its own is begun"), "{said}");
        assert_eq!(blocks(&bench, UNFINISHED), kept);
        assert!(blocks(&bench, UNFINISHED + 1).iter().all(|block| !kept.contains(block)));
    }
}

fn beside_main(schema: i64) -> Value {
    let bench = measured_here(schema);
    // The simulation adds blocks to the unfinished run: that must be the new one.
    let sql = format!("PRAGMA foreign_keys = ON; DELETE FROM run WHERE id = {UNFINISHED}");
    bench.store().execute_batch(&sql).unwrap();
    let arguments = [&ASKED[1..], &["--baseline=main", "--json"]].concat();
    let output = bench.simulate("hopcost.db", &arguments, Gives { rate: 50.0, cost: 0.0 });
    ends(&output, 0, &[]);
    json(&output)
}

#[test]
fn a_run_stands_against_the_baseline_of_an_older_store() {
    for schema in [3, 4, 5] {
        let against = &beside_main(schema)["against"];
        assert_eq!((&against["run"], &against["is_first"]), (&2.into(), &false.into()));
        assert!(against["worse"]["point"].is_f64(), "{against}");
    }
}

/// Baselines came with the third schema.
#[test]
fn a_store_of_before_there_were_baselines_gets_its_first() {
    for schema in [1, 2] {
        let result = beside_main(schema);
        assert_eq!(result["against"]["is_first"], true, "{result}");
        assert_eq!(result["against"]["run"], result["run"]);
    }
}
