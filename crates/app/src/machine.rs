//! This machine or a recorded one, and what would distort a measurement on it.

use std::path::Path;
use std::time::Duration;

use hopcost_core::{Finding, Known, Machine};
use hopcost_host::checks::{self, Surroundings};
use hopcost_sys::{Root, activity, topology};

use crate::{InContext, Outcome};

/// A hundred kernel ticks: one tick is 1% of a CPU.
const WATCHED: Duration = Duration::from_secs(1);

pub fn machine() -> Machine {
    topology::read(&Root::live())
}

/// A directory with sys/ and proc/ in it, or a .tree file.
pub fn recorded(path: &Path) -> Outcome<Machine> {
    Ok(topology::read(&Root::recorded(path)?))
}

pub fn record(path: &Path) -> Outcome<()> {
    let root = Root::live_noting();
    topology::read(&root);
    let tree = root.into_notes();
    if path.extension().is_some_and(|extension| extension == "tree") {
        std::fs::write(path, tree.to_text()).in_context(path.display())
    } else {
        tree.write_below(path).in_context(path.display())
    }
}

/// Takes a second.
pub fn examine(machine: &Machine) -> Vec<Finding> {
    let activity = Known::Is(activity::watch(WATCHED));
    checks::examine_all(&Surroundings { root: &Root::live(), machine, activity })
}
