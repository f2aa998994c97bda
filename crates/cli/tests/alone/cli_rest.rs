//! What simulated stores show as well, on real runs: a sweep that becomes a baseline, and two stores compared.

use crate::bench::{Bench, FAR, SHORT, SWEEP, ends, json};
use crate::expected::{is_alike, is_at_the_worst_of_the_first, is_held_against_the_first};
use crate::settled::settled;
use crate::stands_against::run;

#[test]
fn the_worst_of_a_sweep_stands_against_the_same_point() {
    let bench = Bench::with(&[("far.toml", &format!("{FAR}{SWEEP}"))]);
    let main = ["--baseline=main", "--json", "--fail-if", "worse > 99%"];
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    let first = json(&output);
    assert_eq!(first["against"]["is_first"], true, "{first}");
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    let second = json(&output);
    is_held_against_the_first(&second);
    is_at_the_worst_of_the_first(&second, &first);
}

#[test]
fn two_runs_of_one_machine_are_compared() {
    let bench = Bench::with(&[("far.toml", FAR)]);
    for store in ["a.db", "b.db"] {
        let all = [&["run", "far.toml", "--store", store], &SHORT[..]].concat();
        ends(&settled(&bench.path(store), || bench.hopcost(&all)), 0, &[]);
    }
    let output = bench.hopcost(&["compare", "a.db", "b.db", "--json"]);
    ends(&output, 0, &[]);
    is_alike(&json(&output));
}
