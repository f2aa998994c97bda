//! A whole survey: budget, page and contents.

use std::time::Duration;

use hopcost_sys::clock;

use crate::bench::{Bench, ends, json, stderr, stdout};
use crate::settled::settled;
use crate::surveys::{alone, survey};

/// Enough for some experiments only.
const BUDGET: Duration = Duration::from_mins(1);
/// An example of the help.
const EXAMPLE: &str = "hopcost survey --budget 1m --html host.html";

#[test]
fn a_survey_keeps_to_its_budget_and_names_what_it_left_out() {
    let _alone = alone();
    let bench = Bench::with(&[]);
    assert!(stdout(&bench.hopcost(&["survey", "--help"])).contains(EXAMPLE));
    let example = EXAMPLE.split(' ').skip(2);
    let arguments: Vec<&str> = example.chain(["--fail-if", "bounded-max: gain > 0"]).collect();
    let store = bench.path("hopcost.db");
    let output = settled(&store, || {
        let begun = clock::now();
        let output = survey(&bench, &arguments).output().unwrap();
        // Twice the budget: this machine may be slow at writing a page.
        assert!(begun.elapsed() < 2 * BUDGET, "it took {:?}", begun.elapsed());
        output
    });
    let survey = json(&output);
    assert_eq!(survey["interrupted"], false, "{}", stderr(&output));
    let measured: Vec<&str> = survey["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["experiment"].as_str().unwrap())
        .collect();
    // A check of what was left out could not be made.
    ends(&output, i32::from(!measured.contains(&"bounded-max")), &[]);
    let left: Vec<&str> = survey["not_tested"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["what"].as_str().unwrap())
        .collect();
    assert!(!measured.is_empty() && !left.is_empty(), "{measured:?} and not {left:?}");
    let mut all = [measured.as_slice(), left.as_slice()].concat();
    all.sort_unstable();
    assert_eq!(
        all,
        [
            "access-cost",
            "audit-cost",
            "bounded-max",
            "cache-distance",
            "context-switches",
            "instances",
            "log-distance",
            "log-distance-disk",
            "memory-policy",
            "remote-memory",
            "server-score",
            "smt-oltp",
            "smt-stability"
        ]
    );
    let page = std::fs::read_to_string(bench.path("host.html")).unwrap();
    for name in all {
        // What was not tested is there in words.
        let in_words = page.to_lowercase().contains(&name.replace('-', " "));
        assert!(page.contains(name) || in_words, "the page does not know {name}");
    }
    assert!(page.len() < 2 << 20 && !page.contains("INTERRUPTED"));
}
