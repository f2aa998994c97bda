//! `cargo xtask test`: what must hold, each contract once on real parts; with `--all` everything.
//!
//! Method: all test binaries are built once and started side by side, each in a place of its own; those that measure
//! have the machine to themselves, one after the other, at the end.

mod build;
mod groups;
mod job;
mod lock;
mod place;
mod queue;
mod report;
mod state;
mod verified;

use std::time::Duration;

use anyhow::{Result, bail, ensure};

pub use crate::cargo::{build_hopcost, build_saboteur, cargo, tested_hopcost};
use crate::{clock, command, prerequisites, project, tidy};
pub use build::program;
pub use groups::{GROUPS, Group};
use job::{Job, jobs};
pub use place::MOUNTS;
use place::Place;
use queue::Queue;
use report::Report;
use state::State;
use verified::Verified;

/// Groups that a run of [`Selection::Changed`] tries beside those that are called for.
const TRIED_LONGEST_AGO: usize = 2;
/// A group that would begin later than this fails the run, which has 90 minutes.
const LATEST_BEGIN: Duration = Duration::from_mins(75);

/// What to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The first tier.
    First,
    /// The first tier, the groups whose files have changed since they last passed, and those tried longest ago.
    Changed,
    /// The first tier and all groups.
    All,
    /// These groups, and what the first tier has of these binaries (`hopcost/servers`), alone.
    Named(Vec<String>),
}

impl Selection {
    /// Does the first tier of this binary belong to it?
    fn has(&self, binary: &str) -> bool {
        match self {
            Self::First | Self::Changed | Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == binary),
        }
    }
}

/// Builds, tries and reports: 1 if anything failed.
pub fn run(selection: &Selection, rounds: u32) -> Result<u8> {
    let begun = clock::now();
    let verified = Verified::read()?;
    let chosen = choose(selection, &verified)?;
    let names: Vec<&str> = chosen.iter().map(|group| group.name).collect();
    let before = State::of_machine();
    let fetching = prerequisites::ensure_in_background(&names)?;
    let mut report = Report::new(begun, &verified);
    let tries_first_tier = !matches!(selection, Selection::Named(_));
    if tries_first_tier {
        step("formatting", &["fmt", "--all", "--check"])?;
        println!("xtask: rules of the house");
        ensure!(tidy::run()? == 0, "the rules of the house are broken");
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
    if report.is_green() && verified::tree_is_clean()? {
        verified.with(&report.passed(&chosen))?.write()?;
    }
    Ok(u8::from(!report.is_green()))
}

/// The groups of a selection, in their order.
fn choose(selection: &Selection, verified: &Verified) -> Result<Vec<&'static Group>> {
    let is_chosen: Box<dyn Fn(&Group) -> bool> = match selection {
        Selection::First => Box::new(|_| false),
        Selection::All => Box::new(|_| true),
        Selection::Changed => {
            let oldest = verified.tried_longest_ago(TRIED_LONGEST_AGO);
            let changed = verified.changed()?;
            Box::new(move |group| changed.contains(&group.name) || oldest.contains(&group.name))
        }
        Selection::Named(names) => {
            let is_known = |name: &&String| {
                name.contains('/') || GROUPS.iter().any(|group| group.name == **name)
            };
            if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
                let all: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
                bail!("no group '{unknown}'; there are {}", all.join(", "));
            }
            Box::new(|group| names.iter().any(|name| group.name == name))
        }
    };
    Ok(GROUPS.iter().filter(|group| is_chosen(group)).collect())
}

fn step(what: &str, arguments: &[&str]) -> Result<()> {
    println!("xtask: {what}: cargo {}", arguments.join(" "));
    command::run(cargo().args(arguments).current_dir(project()))
}
