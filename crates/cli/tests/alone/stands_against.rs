//! Real runs compared with baselines.

use std::process::Output;

use crate::bench::{Bench, FAR, SHORT, ends, json};
use crate::expected::is_held_against_the_first;
use crate::settled::counted;

pub fn run(bench: &Bench, arguments: &[&str]) -> Output {
    let all = [&["run", "far.toml"], &SHORT[..], arguments].concat();
    counted(&bench.path("hopcost.db"), || bench.hopcost(&all))
}

#[test]
fn a_run_stands_against_the_first_of_its_name() {
    let bench = Bench::with(&[("far.toml", FAR)]);
    let main = ["--baseline=main", "--json", "--fail-if", "worse > 99%"];
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    assert_eq!(json(&output)["against"]["is_first"], true);
    let output = run(&bench, &main);
    ends(&output, 0, &[]);
    is_held_against_the_first(&json(&output));
}
