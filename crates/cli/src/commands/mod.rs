//! One short file per command.

pub mod doctor;
mod experiment;
pub mod list;
pub mod machine;
pub mod plan;
pub mod probe;
pub mod report;
pub mod restore;
pub mod run;

use std::path::PathBuf;

/// Where hopcost keeps what must outlive a process: the settings journal.
fn state_dir() -> PathBuf {
    let of =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = of("XDG_STATE_HOME") {
        return dir.join("hopcost");
    }
    let home = of("HOME").filter(|home| home != "/root" && home != "/");
    home.map_or_else(|| PathBuf::from("/var/lib/hopcost"), |home| home.join(".local/state/hopcost"))
}
