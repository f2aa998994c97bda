//! `hopcost compare`: stores of real runs held against each other.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod bench;
mod documented;
mod settled;

use std::fs;
use std::process::Output;

use bench::{Bench, FAR, json, stderr};
use documented::assert_documented;
use rusqlite::Connection;
use serde_json::Value;
use settled::settled;

/// Needs no memory, and no quiet.
const SWITCHES: &str = r#"
question = "How long does a thread take to wake?"

[subject]
probes = ["switch"]
"#;

/// In which less bandwidth can be planted.
const STREAMS: &str = r#"
question = "How many bytes does each node give?"

[subject]
probes = ["bandwidth"]
"#;

/// Eight units for each of the two bindings, in windows as short as a debug build can fill.
const SHORT: [&str; 6] = [
    "far.toml",
    "--quick",
    "--emulate=nodes=2,remote_ns=8000",
    "--set=units=8",
    "--set=window=40ms",
    "--set=guard=10ms",
];

const MOST_TRIES: u32 = 4;

impl Bench {
    fn new() -> Self {
        Self::with(&[("far.toml", FAR), ("switches.toml", SWITCHES), ("streams.toml", STREAMS)])
    }

    fn hopcost(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// A run that is kept there, the only one; again where other work left nothing of it.
    fn run(&self, store: &str, arguments: &[&str]) {
        let all = [&["run", "--store", store], arguments].concat();
        let mut said = String::new();
        for _ in 0..MOST_TRIES {
            let output = settled(&self.path(store), || self.hopcost(&all));
            if output.status.success() {
                return;
            }
            said = stderr(&output);
            fs::remove_file(self.path(store)).unwrap();
        }
        panic!("{said}");
    }

    /// Changes what was kept, as if another machine had measured it.
    fn change(&self, store: &str, table_and_column: [&str; 2], change: impl Fn(&mut Value)) {
        let [table, column] = table_and_column;
        let store = Connection::open(self.path(store)).unwrap();
        let sql = format!("SELECT {column} FROM {table}");
        let text: String = store.query_row(&sql, [], |row| row.get(0)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        let sql = format!("UPDATE {table} SET {column} = ?1");
        assert_eq!(store.execute(&sql, [value.to_string()]).unwrap(), 1);
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Ends with this code, and says each of these words.
#[track_caller]
fn ends(output: &Output, code: i32, words: &[&str]) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

/// The estimates of a report's cells that were measured.
fn estimates(report: &mut Value) -> impl Iterator<Item = &mut Value> {
    let cells = report["cells"].as_array_mut().unwrap().iter_mut();
    cells.filter_map(|cell| cell.pointer_mut("/outcome/measured/estimate"))
}

/// An outcome that is known to 1 %.
fn measured(point: f64) -> Value {
    let spread = ["min", "p5", "median", "p95", "max"].map(|key| (key.to_owned(), point.into()));
    let mut estimate = serde_json::json!({ "n": 60 });
    set(&mut estimate, point);
    let spread = Value::Object(spread.into_iter().collect());
    serde_json::json!({ "measured": { "estimate": estimate, "spread": spread } })
}

/// As if it were known to 1 %.
fn set(estimate: &mut Value, point: f64) {
    for (key, value) in [("point", point), ("low", 0.99 * point), ("high", 1.01 * point)] {
        estimate[key] = value.into();
    }
    estimate["level"] = 0.95.into();
    estimate["n_effective"] = 12.0.into();
}

#[test]
fn what_distance_costs_is_held_against_what_it_costs_elsewhere() {
    let bench = Bench::new();
    for store in ["a.db", "b.db"] {
        bench.run(store, &SHORT);
    }
    let compared = || bench.hopcost(&["compare", "a.db", "b.db", "--json"]);
    let output = compared();
    ends(&output, 0, &[]);
    let alike = json(&output);
    assert_documented(&alike);
    let effects = alike["effects"].as_array().unwrap();
    assert_eq!((effects.len(), &effects[0]["level"]), (1, &Value::from("far")));
    assert!(alike["emulated"] == true && alike["found"].as_str().unwrap().starts_with("EMULATED"));
    let traits = alike["traits"].as_array().unwrap();
    let known = traits.iter().filter(|it| it["a"].is_string());
    assert!(known.clone().count() > 4 && known.clone().all(|it| it["same"] == true), "{traits:?}");

    // What a busy machine left of it is not what this is about.
    for (store, cost) in [("a.db", 0.3), ("b.db", 0.8)] {
        bench.change(store, ["run", "result"], |result| {
            set(&mut result["details"]["points"][0]["cost"], cost);
        });
    }
    bench.change("b.db", ["run", "machine"], |machine| machine["kernel"] = "2.6.32".into());
    let output = compared();
    let dearer = json(&output);
    assert_eq!(dearer["effects"][0]["likeness"], "DIFFERENT", "{dearer}");
    assert!(dearer["found"].as_str().unwrap().contains("“far” of far costs +50.0 %"), "{dearer}");
    assert!(dearer["explained_by"].to_string().contains("/ 2.6.32)"), "{dearer}");

    bench.change("b.db", ["run", "identity"], |identity| identity["rows"] = 7.into());
    let output = bench.hopcost(&["compare", "a.db", "b.db"]);
    ends(&output, 3, &["the two runs differ in --scale", "Nothing could be compared"]);
}

#[test]
fn figures_of_the_hardware_are_compared_cell_by_cell() {
    let bench = Bench::new();
    for store in ["a.db", "b.db"] {
        bench.run(store, &["switches.toml", "--quick"]);
        // What a busy machine left of it is not what this is about.
        bench.change(store, ["probe_report", "report"], |report| {
            estimates(report).for_each(|estimate| set(estimate, 10.0));
            for cell in report["cells"].as_array_mut().unwrap() {
                cell["dropped"] = serde_json::json!({});
            }
        });
    }
    let output = bench.hopcost(&["compare", "a.db:1", "b.db:switches", "--json"]);
    ends(&output, 0, &[]);
    let alike = json(&output);
    assert_documented(&alike);
    let cells = alike["cells"].as_array().unwrap();
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell["likeness"] != "DIFFERENT"));
    bench.change("b.db", ["probe_report", "report"], |report| {
        set(estimates(report).next().unwrap(), 15.0);
    });
    let output = bench.hopcost(&["compare", "1", "b.db", "--store", "a.db"]);
    ends(&output, 0, &["B is slower in 1 of", "DIFFERENT", "is slower on B: 50 % (", "higher"]);
}

/// Bandwidth cannot be measured where others compile: what was planted is counted, and stands in for it.
#[test]
fn a_node_with_less_bandwidth_is_told_and_named() {
    let bench = Bench::new();
    let mut planted = 0.0;
    for (store, emulated) in [("a.db", "nodes=2"), ("b.db", "nodes=2,bandwidth=node1:0.7")] {
        let output = bench.hopcost(&[
            "run",
            "streams.toml",
            "--quick",
            "--json",
            "--store",
            store,
            "--emulate",
            emulated,
        ]);
        let result = json(&output);
        assert_eq!(result["emulated"], true);
        planted = result["planted"].as_f64().unwrap_or(0.0);
        bench.change(store, ["probe_report", "report"], |report| {
            for cell in report["cells"].as_array_mut().unwrap() {
                let left = if cell["column"]["node"] == 1 { 1.0 - planted } else { 1.0 };
                cell["outcome"] = measured(10.0 * left);
                cell["dropped"] = serde_json::json!({});
            }
        });
    }
    assert!((0.25..0.35).contains(&planted), "{planted}");
    let told = json(&bench.hopcost(&["compare", "a.db", "b.db", "--json"]));
    let cause = told["explained_by"][0].as_str().unwrap();
    assert!(
        cause.starts_with("bandwidth of node 1 is ") && cause.contains("lower on B"),
        "{cause}"
    );
    let rest = "at other nodes: suspect a memory module or channel there";
    assert!(cause.ends_with(rest), "{cause}");
    assert!(told["notes"].to_string().contains("the runs also differ in --emulate"), "{told}");
    let itself = json(&bench.hopcost(&["compare", "b.db", "b.db", "--json"]));
    assert_eq!(itself["explained_by"], serde_json::json!([]));
    let output = bench.hopcost(&["run", "far.toml", "--emulate=bandwidth=node1:0.7"]);
    ends(&output, 2, &["'far' is on a database"]);
    let output = bench.hopcost(&["run", "streams.toml", "--emulate=remote_ns=80"]);
    ends(&output, 2, &["probes know nodes and bandwidth=nodeN:SHARE"]);
}

#[test]
fn who_is_not_there_is_said_and_who_has_nothing_in_common() {
    let bench = Bench::new();
    bench.run("a.db", &["switches.toml", "--quick"]);
    ends(&bench.hopcost(&["compare", "a.db", "no.db"]), 1, &["no.db", "no store here"]);
    let unknown = ["there is no finished run for 'a.db:7'", "kept are 1 (switches)"];
    ends(&bench.hopcost(&["compare", "a.db", "a.db:7"]), 2, &unknown);
    ends(&bench.hopcost(&["compare", "a.db", "far", "--store", "a.db"]), 2, &["for 'far'"]);
    ends(&bench.hopcost(&["compare", "a.db"]), 2, &["<B>"]);
    fs::copy(bench.path("a.db"), bench.path("b.db")).unwrap();
    let store = Connection::open(bench.path("b.db")).unwrap();
    store.execute("DELETE FROM probe_report", []).unwrap();
    let output = bench.hopcost(&["compare", "a.db", "b.db"]);
    ends(&output, 3, &["Nothing could be compared", "missing, because B has no run of it"]);
}
