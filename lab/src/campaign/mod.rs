//! `cargo lab validate CAMPAIGN`: what takes hours, and is tried by hand.
//!
//! Method: a campaign is a list of rounds. Each that is done is written down below cargo's target directory with the
//! commit that it was of, so that an interrupted campaign goes on with the next; the whole is appended to
//! docs/method/validation.md.

mod mutants;
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
}

pub fn run(campaign: Campaign) -> Result<u8> {
    match campaign {
        Campaign::Tests => tests::run("tests", &[], 10),
        Campaign::Everything => tests::run("everything", &["--all"], 2),
        Campaign::Mutants => mutants::run(),
    }
}
