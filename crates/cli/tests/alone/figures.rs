//! Hardware figures are validated, stored and shown again.

use std::fs;

use crate::bench::{Bench, ends, json, stdout};
use crate::documented::assert_documented;
use crate::settled::counted;

const ACCESS_COST: &str = r#"
question = "What does memory cost?"

[subject]
probes = ["latency"]
"#;

#[test]
fn an_experiment_runs_is_kept_and_shown_again() {
    let bench = Bench::with(&[("access-cost.toml", ACCESS_COST)]);
    let refuses = |arguments: &[&str], code: i32, words: &[&str]| {
        ends(&bench.hopcost(arguments), code, words);
    };
    refuses(&["report"], 1, &["there is no store here", "hopcost run"]);
    let run = ["run", "access-cost.toml", "--quick", "--budget=2s", "--json"];
    let output = counted(&bench.path("hopcost.db"), || bench.hopcost(&run));
    ends(&output, 0, &[]);
    let measured = json(&output);
    assert_documented(&measured);
    assert_eq!((&measured["verdict"], &measured["run"]), (&"MEASURED".into(), &1.into()));
    assert!(measured["estimate"]["point"].as_f64().unwrap() > 0.0);
    let again = json(&bench.hopcost(&["report", "--json"]));
    assert_eq!(again, measured, "a report is the run again, to the last digit");
    refuses(&["report", "7"], 2, &["there is no run 7", "1 (access-cost)"]);
    let report = |arguments: &[&str]| {
        let output = bench.hopcost(&[&["report"], arguments].concat());
        ends(&output, 0, &[]);
        stdout(&output)
    };
    assert!(report(&["1"]).starts_with("MEASURED"));
    let csv = report(&["--csv"]);
    assert!(csv.lines().nth(1).unwrap().starts_with("access-cost,,MEASURED,"), "{csv}");
    assert!(report(&["--markdown"]).starts_with("**Cost of each memory access: "));
    report(&["--html", "page.html"]);
    let html = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(html.contains("Cost of each memory access") && html.contains("id=\"probes\""));
    refuses(&["report", "--html", "/proc/x.html"], 1, &["--html /proc/x.html"]);
    refuses(&["report", "--html", "x", "--csv"], 2, &["cannot be used with"]);
}

#[test]
fn every_key_of_a_probe_is_documented_and_its_figures_proved() {
    let bench = Bench::with(&[]);
    let probe = ["probe", "latency", "--quick", "--size=4M", "--budget=2s", "--json"];
    let output = bench.hopcost(&probe);
    ends(&output, 0, &[]);
    let report = json(&output);
    assert_documented(&report);
    let cells = report["probes"][0]["cells"].as_array().unwrap();
    assert!(cells.iter().any(|cell| cell["outcome"]["measured"].is_object()));
    for cell in cells.iter().filter(|cell| cell["outcome"]["measured"].is_object()) {
        for proof in cell["proof"].as_array().unwrap() {
            for memory in proof["memory"].as_array().unwrap() {
                let asked = memory["asked"].to_string();
                assert!(memory["pages_by_node"][&asked].as_u64().unwrap() > 0, "{memory}");
            }
        }
    }
}
