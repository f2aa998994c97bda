//! Files fetched or built once, cached below cargo's target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::target;

/// `make` gets a temporary directory. Only the path that it returns is kept, so that a cached item
/// is always complete.
pub fn kept(dir: &str, name: &str, make: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let dir = target().join(dir);
    let whole = dir.join(name);
    fs::create_dir_all(&dir)?;
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
