//! Real runs of what simulated stores also test.

use serde_json::{Value, json};

use crate::bench::{Bench, FAR, SHORT, SWEEP, ends, json as printed};
use crate::expected::{is_alike, is_at_the_worst_of_the_first, is_held_against_the_first};
use crate::settled::counted;
use crate::stands_against::run;

#[test]
fn the_worst_of_a_sweep_stands_against_the_same_point() {
    let bench = Bench::with(&[("far.toml", &format!("{FAR}{SWEEP}"))]);
    let main = ["--baseline=main", "--json", "--fail-if", "worse > 99%"];
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    let first = printed(&output);
    assert_eq!(first["against"]["is_first"], true, "{first}");
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    let second = printed(&output);
    is_held_against_the_first(&second);
    is_at_the_worst_of_the_first(&second, &first);
}

#[test]
fn two_runs_of_one_machine_are_compared() {
    let bench = Bench::with(&[("far.toml", FAR)]);
    for store in ["a.db", "b.db"] {
        let all = [&["run", "far.toml", "--store", store], &SHORT[..]].concat();
        ends(&counted(&bench.path(store), || bench.hopcost(&all)), 0, &[]);
    }
    let output = bench.hopcost(&["compare", "a.db", "b.db", "--json"]);
    ends(&output, 0, &[]);
    is_alike(&printed(&output));
}

/// Less bandwidth can be emulated in it.
const STREAMS: &str = r#"
question = "How many bytes does each node give?"

[subject]
probes = ["bandwidth"]
"#;

fn measured(point: f64) -> Value {
    let spread = ["min", "p5", "median", "p95", "max"].map(|key| (key.to_owned(), point.into()));
    let spread = Value::Object(spread.into_iter().collect());
    let estimate = json!({
        "point": point, "low": 0.99 * point, "high": 1.01 * point,
        "level": 0.95, "n": 60, "n_effective": 12.0,
    });
    json!({ "measured": { "estimate": estimate, "spread": spread } })
}

/// Measured bandwidth varies between runs: replace it by the emulated value.
#[test]
fn a_node_with_less_bandwidth_is_told_and_named() {
    let bench = Bench::with(&[("streams.toml", STREAMS)]);
    let mut planted = 0.0;
    for (store, emulated) in [("a.db", "nodes=2"), ("b.db", "nodes=2,bandwidth=node1:0.7")] {
        let run = ["run", "streams.toml", "--quick", "--json", "--store", store];
        let result = printed(&bench.hopcost(&[&run[..], &["--emulate", emulated]].concat()));
        assert_eq!(result["emulated"], true);
        planted = result["planted"].as_f64().unwrap_or(0.0);
        bench.change(store, ["probe_report", "report"], |report| {
            for cell in report["cells"].as_array_mut().unwrap() {
                let left = if cell["column"]["node"] == 1 { 1.0 - planted } else { 1.0 };
                cell["outcome"] = measured(10.0 * left);
                cell["dropped"] = json!({});
                // It is of the figure that was replaced.
                cell["occasion"] = Value::Null;
            }
        });
    }
    assert!((0.25..0.35).contains(&planted), "{planted}");
    let told = printed(&bench.hopcost(&["compare", "a.db", "b.db", "--json"]));
    let cause = told["explained_by"][0].as_str().unwrap();
    assert!(
        cause.starts_with("bandwidth of node 1 is ") && cause.contains("lower on B"),
        "{cause}"
    );
    let rest = "at other nodes: suspect a memory module or channel there";
    assert!(cause.ends_with(rest), "{cause}");
    assert!(told["notes"].to_string().contains("the runs also differ in --emulate"), "{told}");
    let itself = printed(&bench.hopcost(&["compare", "b.db", "b.db", "--json"]));
    assert_eq!(itself["explained_by"], json!([]));
}
