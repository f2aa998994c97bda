//! `cargo lab validate CAMPAIGN`: validations that take hours.
//!
//! A campaign is a list of rounds. Each finished round is recorded with its commit below cargo's
//! target directory, so that an interrupted campaign resumes. The summary is appended to
//! docs/method/validation.md.

mod baselines;
mod mutants;
mod occasions;
mod planted;
mod rounds;
mod tests;

use anyhow::Result;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Campaign {
    /// The first tier of the tests ten times in a row
    Tests,
    /// All tests twice
    Everything,
    /// Twenty mutants: do the tests find them?
    Mutants,
    /// 3, 10, 20 and 40% planted, twenty seeds each: 20 minutes on a machine left alone
    Planted,
    /// Five names of eight equal runs and a slower one on PostgreSQL: 30 minutes on a machine left alone
    Baselines,
    /// Six occasions within twelve minutes: do the intervals of figures hold in the others?
    Occasions,
    /// Eight occasions within an hour, each measured twice at once
    Hours,
}

pub fn run(campaign: Campaign) -> Result<u8> {
    match campaign {
        Campaign::Tests => tests::run("tests", &[], 10),
        Campaign::Everything => tests::run("everything", &["--all"], 2),
        Campaign::Mutants => mutants::run(),
        Campaign::Planted => planted::run(),
        Campaign::Baselines => baselines::run(),
        Campaign::Occasions => occasions::run(&occasions::WITHIN_MINUTES),
        Campaign::Hours => occasions::run(&occasions::WITHIN_AN_HOUR),
    }
}
