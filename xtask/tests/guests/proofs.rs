//! Assertions about reports and their proofs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::steps::Step;

pub fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

pub fn by_id(list: &Value) -> BTreeMap<u64, &Value> {
    list.as_array().unwrap().iter().map(|item| (item["id"].as_u64().unwrap(), item)).collect()
}

pub fn probe(name: &str) -> String {
    format!("hopcost probe {name} --quick --budget 1s --size 4M --json > report")
}

pub fn cells(report: &Value) -> Vec<&Value> {
    let probes = report["probes"].as_array().unwrap().iter();
    probes.flat_map(|probe| probe["cells"].as_array().unwrap()).collect()
}

/// Each cell that places memory proves, before and after, that at least 99% of its pages were in
/// place. A memory-only node is a column for every row, and no row.
pub fn probe_proves(report: &Value, name: &str, shape: &str) {
    let is_measured = |cell: &&Value| cell["outcome"].get("measured").is_some();
    let measured: Vec<&Value> = cells(report).into_iter().filter(is_measured).collect();
    assert!(!measured.is_empty(), "{name} measured nothing");
    for cell in measured {
        cell_proves(name, cell);
    }
    if shape == "n2cxl" {
        let at = |key: &str| {
            let node = |cell: &&Value| cell[key]["node"] == 2;
            cells(report).into_iter().filter(node).collect::<Vec<_>>()
        };
        let (rows, columns) = (at("row"), at("column"));
        assert!(columns.len() >= 2 && rows.is_empty());
        assert!(columns.iter().all(|cell| cell["class"] == "memory-only"));
    }
}

fn cell_proves(name: &str, cell: &Value) {
    for proof in cell["proof"].as_array().unwrap() {
        let Some(localities) = proof["memory"].as_array() else {
            let without = ["switch", "decommit"].contains(&name);
            assert!(without, "{name} places memory, and has to prove where");
            continue;
        };
        assert!(!localities.is_empty());
        for locality in localities {
            let asked = locality["asked"].to_string();
            let pages = locality["pages_by_node"].as_object().unwrap();
            let all: u64 = pages.values().map(|n| n.as_u64().unwrap()).sum();
            let there = pages.get(&asked).map_or(0, |n| n.as_u64().unwrap());
            assert!(there as f64 >= 0.99 * all as f64 && there > 0, "{name}: {locality}");
            let how = (&locality["method"], &locality["bound"]);
            assert_eq!(how, (&"move_pages".into(), &true.into()));
            assert_eq!(locality["pages_unknown"], 0);
        }
    }
}

/// The nodes of each variant, and the number of claims, each of which holds at least so far.
pub fn proves(result: &Value, bindings: usize, claims: usize, least: f64) {
    let bound = result["details"]["bindings"].as_array().unwrap();
    assert_eq!(bound.len(), bindings, "{bound:?}");
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), claims, "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(least)), "{proof:?}");
}

pub fn sides(result: &Value, level: &str, of: &str) -> [u64; 2] {
    let arms = result["details"]["arms"].as_array().unwrap();
    let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
    [0, 1].map(|side| arm[of][side].as_u64().unwrap_or_else(|| panic!("no {of} in {arm}")))
}

/// Most touched pages of a server are where they were placed. How many are read depends on the
/// guest's speed, where they are does not.
pub fn serves_both_arms(step: Step<'_>, bindings: usize, claims: usize) -> Value {
    let result = step.is_done().json("run");
    proves(&result, bindings, claims, 0.98);
    let [near, far] = sides(&result, "local", "distinct_pages");
    assert!(far * 50 < near, "the local arm saw {near} and {far}");
    let [near, far] = sides(&result, "remote", "distinct_pages");
    assert!(near * 50 < far, "the remote arm saw {near} and {far}");
    result
}
