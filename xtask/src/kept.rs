//! What is fetched or built once, and kept below cargo's target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::target;

/// A file or directory: of an earlier run, or made now. `make` has a directory to work in, of which only what it
/// returns is kept: so what is there is whole.
pub fn kept(dir: &str, name: &str, make: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let dir = target().join(dir);
    let whole = dir.join(name);
    fs::create_dir_all(&dir)?;
    // Several tests may ask for it at once.
    let lock = File::create(dir.join("lock"))?;
    lock.lock()?;
    if !whole.exists() {
        let work = dir.join("work");
        if work.is_dir() {
            fs::remove_dir_all(&work)?;
        }
        fs::create_dir(&work)?;
        fs::rename(make(&work)?, &whole)?;
        fs::remove_dir_all(work)?;
    }
    Ok(whole.canonicalize()?)
}
