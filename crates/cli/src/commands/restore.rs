//! `hopcost restore`: puts back what a killed run left changed.

use std::fmt::Write as _;

use anyhow::Context;
use hopcost_engines::TARGETS;
use hopcost_sys::journal::{self, Restored};
use hopcost_sys::promises::{self, Made, Promise};

use crate::exit::{Exit, Failure};
use crate::output;

pub fn run() -> Result<Exit, Failure> {
    let dir = super::state_dir();
    let leftovers = journal::leftovers(&dir).with_context(|| dir.display().to_string())?;
    let promises = promises::leftovers(&dir).with_context(|| dir.display().to_string())?;
    if leftovers.is_empty() && promises.is_empty() {
        output::print("Nothing to put back: no killed run left anything changed.\n")?;
        return Ok(Exit::Done);
    }
    let (mut text, mut exit) = (String::new(), Exit::Done);
    for (promise, made) in promises {
        let file = promise.path().display().to_string();
        match remove(promise, &made) {
            Ok(words) => {
                let _ = writeln!(text, "removed    {}:{}: {words}", made.target, made.address);
            }
            Err(why) => {
                let (target, address) = (&made.target, &made.address);
                let _ = writeln!(
                    text,
                    "NOT REMOVED {target}:{address}: {why}; mend that and run 'hopcost restore', or \
                     delete {file} where that place is gone for good"
                );
                exit = Exit::Failed;
            }
        }
    }
    for path in leftovers {
        match journal::settle(&path) {
            Ok(all) => {
                for restored in all {
                    let _ = writeln!(text, "{}", describe(&restored));
                    exit = if is_failed(&restored) { Exit::Failed } else { exit };
                }
            }
            // The other journals are not to wait for this one.
            Err(error) => {
                let _ = writeln!(text, "not read   {error}");
                exit = Exit::Failed;
            }
        }
    }
    output::print(&text)?;
    Ok(exit)
}

/// Keeps a promise in the stead of a run that is gone.
fn remove(promise: Promise, made: &Made) -> Result<String, String> {
    let target = TARGETS.iter().find(|target| target.name() == made.target);
    let target = target.ok_or("this hopcost does not know that target")?;
    let words = target.clear(&made.address).map_err(|reason| reason.to_string())?;
    promise.keep().map_err(|error| error.to_string())?;
    Ok(words)
}

/// Is it still changed?
pub fn is_failed(restored: &Restored) -> bool {
    matches!(restored, Restored::Failed(..))
}

pub fn describe(restored: &Restored) -> String {
    match restored {
        Restored::PutBack(change) => {
            format!("put back   {} = {}", change.setting.display(), change.old)
        }
        Restored::Unchanged(change) => {
            format!("unchanged  {} = {}", change.setting.display(), change.old)
        }
        Restored::Failed(change, why) => format!(
            "NOT PUT BACK {} = {}: {why}; mend that and run 'hopcost restore'",
            change.setting.display(),
            change.old
        ),
        Restored::LeftAlone(change, now) => format!(
            "left alone {} = {now}: somebody changed it after hopcost (before it was {})",
            change.setting.display(),
            change.old
        ),
    }
}
