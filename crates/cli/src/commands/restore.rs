//! `hopcost restore`: puts back what a killed run left changed.

use std::fmt::Write as _;

use anyhow::Context;
use hopcost_sys::journal::{self, Restored};

use crate::exit::{Exit, Failure};
use crate::output;

pub fn run() -> Result<Exit, Failure> {
    let dir = super::state_dir();
    let leftovers = journal::leftovers(&dir).with_context(|| dir.display().to_string())?;
    if leftovers.is_empty() {
        output::print("Nothing to put back: no killed run left a setting changed.\n")?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for path in leftovers {
        for restored in journal::settle(&path)? {
            let _ = writeln!(text, "{}", describe(&restored));
        }
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

pub fn describe(restored: &Restored) -> String {
    match restored {
        Restored::PutBack(change) => {
            format!("put back   {} = {}", change.setting.display(), change.old)
        }
        Restored::Unchanged(change) => {
            format!("unchanged  {} = {}", change.setting.display(), change.old)
        }
        Restored::LeftAlone(change, now) => format!(
            "left alone {} = {now}: somebody changed it after hopcost (before it was {})",
            change.setting.display(),
            change.old
        ),
    }
}
