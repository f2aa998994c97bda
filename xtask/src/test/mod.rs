//! `cargo xtask test`: builds all test binaries and runs them in parallel.
//!
//! Each has its own directories. Those that measure run alone, one after the other, at the end.

mod build;
mod groups;
mod job;
mod lock;
mod place;
mod queue;
mod report;
mod selection;
mod state;
mod verified;

use std::time::Duration;

use anyhow::{Result, ensure};

pub use crate::cargo::{build_hopcost, build_saboteur, cargo, tested_hopcost};
use crate::{clock, command, git, prerequisites, project, tidy};
pub use build::program;
pub use groups::{GROUPS, Group};
use job::{Job, jobs};
pub use place::MOUNTS;
use place::Place;
use queue::Queue;
use report::Report;
pub use selection::Selection;
use state::State;
use verified::Verified;

/// A later start of a group fails the run, which is limited to 90 minutes.
const LATEST_BEGIN: Duration = Duration::from_mins(75);

/// Returns 1 if anything failed.
pub fn run(selection: &Selection, rounds: u32) -> Result<u8> {
    let begun = clock::now();
    let verified = Verified::read()?;
    let chosen = selection.groups(&verified)?;
    let names: Vec<&str> = chosen.iter().map(|group| group.name).collect();
    let before = State::of_machine();
    let fetching = prerequisites::ensure_in_background(&names)?;
    let mut report = Report::new(begun, &verified);
    let tries_first_tier = !matches!(selection, Selection::Named(_));
    if tries_first_tier {
        step("formatting", &["fmt", "--all", "--check"])?;
        println!("xtask: rules that the compiler does not check");
        ensure!(tidy::run()? == 0, "rules are broken");
    }
    let binaries = build::tests()?;
    fetching.wait()?;
    report.built();
    let place = Place::take(&binaries)?;
    let mut jobs = jobs(&binaries, &chosen, selection, &verified)?;
    if tries_first_tier {
        jobs.insert(0, Job::lints());
    }
    for round in 1..=rounds {
        if rounds > 1 {
            println!("xtask: round {round} of {rounds}");
            jobs.retain(|job| !job.is_lints());
        }
        report.round(Queue::new(&place, begun + LATEST_BEGIN).run(&jobs)?);
    }
    report.left(before.differences());
    drop(place);
    report.close(&chosen, &binaries, tries_first_tier);
    if report.is_green() && git::changes()?.is_empty() {
        verified.with(&report.passed(&chosen))?.write()?;
    }
    Ok(u8::from(!report.is_green()))
}

fn step(what: &str, arguments: &[&str]) -> Result<()> {
    println!("xtask: {what}: cargo {}", arguments.join(" "));
    command::run(cargo().args(arguments).current_dir(project()))
}
