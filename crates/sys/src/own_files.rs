//! Files that outlive their process, named by its pid and start time.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::process::start_time;

pub fn path(dir: &Path, prefix: &str) -> PathBuf {
    let pid = std::process::id();
    let started = start_time(pid).unwrap_or_default();
    dir.join(format!("{prefix}{pid}-{started}.jsonl"))
}

/// Its name, too, survives a crash.
pub fn create(path: &Path) -> io::Result<File> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let file = OpenOptions::new().append(true).create_new(true).open(path)?;
    File::open(dir)?.sync_all()?;
    Ok(file)
}

/// Files whose processes are gone, sorted by name.
pub fn left_over(dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_gone = |(pid, started)| start_time(pid) != Some(started);
    paths.retain(|path| owner(path, prefix).is_some_and(is_gone));
    paths.sort();
    Ok(paths)
}

fn owner(path: &Path, prefix: &str) -> Option<(u32, u64)> {
    let name = path.file_name()?.to_str()?;
    let (pid, started) = name.strip_prefix(prefix)?.strip_suffix(".jsonl")?.split_once('-')?;
    Some((pid.parse().ok()?, started.parse().ok()?))
}
