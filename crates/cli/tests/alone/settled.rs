//! Runs on a machine that is not quiet: it tests other things at the same time.
#![allow(clippy::print_stderr)] // a run that is made again is no secret

use std::fs;
use std::path::Path;
use std::process::Output;

/// What hopcost says when it gives no verdict because the machine, and not the subject, changed.
const RESTLESS: [&str; 6] = [
    "the effect changed on the way",
    "no block was undisturbed",
    "(Little's law)",
    "favours an arm",
    "of blocks that a first look needs",
    "units of blocks would decide",
];

/// The same of figures of the hardware. Of those that were measured, some may be so.
const NO_FIGURE: &str = "every sample was disturbed";

/// How the output of a single run begins that may have ended well without a verdict: told to people, and to
/// programs. Of the many of a survey, some may.
const SINGLE_RUN: [&str; 3] = ["INCONCLUSIVE", "EMULATED INCONCLUSIVE", "{\n  \"run\""];

const MOST_RUNS: u32 = 4;

/// The run's output, once it was not refused, or left undecided, because the machine was restless.
pub fn settled(store: &Path, run: impl FnMut() -> Output) -> Output {
    again(store, run, |output, said| {
        let is_single = SINGLE_RUN.iter().any(|told| said.starts_with(told));
        is_single || !output.status.success()
    })
}

/// The same where it has to count, and need not be decided.
pub fn counted(store: &Path, run: impl FnMut() -> Output) -> Output {
    again(store, run, |output, _| !output.status.success())
}

/// A run that may be restless and was is taken out of the store again, and told of.
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
        let words = RESTLESS.iter().chain(no_figure).find(|words| said.contains(**words));
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
