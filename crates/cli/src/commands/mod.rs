//! One short file per command.

mod baseline;
mod capabilities;
pub mod compare;
mod comparison;
pub mod completions;
pub mod doctor;
pub mod drive;
mod experiment;
mod fail_if;
#[cfg(test)]
mod goldens;
mod host;
pub mod list;
pub mod load;
pub mod machine;
pub mod man;
mod off_line;
mod page;
pub mod plan;
pub mod probe;
#[cfg(test)]
mod refusals;
pub mod report;
pub mod restore;
pub mod run;
mod run_database;
mod run_hardware;
mod statements;
pub mod survey;
pub mod whereabouts;

use std::path::PathBuf;

/// Where hopcost keeps what must outlive a process: the settings journal.
///
/// For root it is one place, whatever the environment says: what `sudo -E` left changed, a later
/// `sudo` has to find.
fn state_dir() -> PathBuf {
    let of =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if hopcost_sys::is_root() {
        return PathBuf::from("/var/lib/hopcost");
    }
    if let Some(dir) = of("XDG_STATE_HOME") {
        return dir.join("hopcost");
    }
    of("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".local/state/hopcost")
}
