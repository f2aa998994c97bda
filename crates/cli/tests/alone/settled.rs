//! Runs on a noisy machine: other tests run at the same time.
#![allow(clippy::print_stderr)] // a run that is made again is no secret

use std::fs;
use std::path::Path;
use std::process::Output;

/// Messages of a run without verdict because the machine changed.
const RESTLESS: [&str; 6] = [
    "the effect changed during the run",
    "no block was undisturbed",
    "(Little's law)",
    "favors one variant",
    "needed for a verdict",
    "would decide: --budget",
];

const NO_FIGURE: &str = "every sample was disturbed";

/// Beginnings of the output of a run that may end without a verdict, as text and JSON. Experiments
/// of a survey may do so.
const SINGLE_RUN: [&str; 3] = ["UNDECIDED", "EMULATED UNDECIDED", "{\n  \"run\""];

const MOST_RUNS: u32 = 4;

/// Repeats a run until it is neither refused nor undecided because of a noisy machine.
pub fn settled(store: &Path, run: impl FnMut() -> Output) -> Output {
    again(store, run, |output, said| {
        let is_single = SINGLE_RUN.iter().any(|told| said.starts_with(told));
        is_single || !output.status.success()
    })
}

/// Repeats a run until it succeeds, decided or not.
pub fn counted(store: &Path, run: impl FnMut() -> Output) -> Output {
    again(store, run, |output, _| !output.status.success())
}

/// Removes each such run from the store before the next.
fn again(
    store: &Path,
    mut run: impl FnMut() -> Output,
    may_be_restless: impl Fn(&Output, &str) -> bool,
) -> Output {
    let before = fs::read(store).ok();
    for runs in 1.. {
        let output = run();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let no_figure = (!output.status.success()).then_some(&NO_FIGURE);
        // A reason may begin a sentence.
        let lower = said.to_lowercase();
        let mut all = RESTLESS.iter().chain(no_figure);
        let words = all.find(|words| lower.contains(&words.to_lowercase()));
        let words = words.filter(|_| runs < MOST_RUNS && may_be_restless(&output, &said));
        let Some(words) = words else { return output };
        eprintln!("run {runs} was refused, \"{words}\": again");
        match &before {
            Some(bytes) => fs::write(store, bytes).expect("the store can be written"),
            None => fs::remove_file(store).expect("a refused run has a store"),
        }
    }
    unreachable!("the last run is returned")
}
