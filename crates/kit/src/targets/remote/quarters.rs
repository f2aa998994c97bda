//! Where a server of ours lives while it runs.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use hopcost_core::TargetError;

use super::account::Account;

/// A directory of one run, removed at its end.
pub struct Quarters {
    directory: tempfile::TempDir,
    /// Held as long as we live.
    _lock: File,
}

impl Quarters {
    /// Below `home`, after what killed runs left there is gone.
    pub fn take(account: &Account, home: &Path) -> Result<Self, TargetError> {
        clear_up(home);
        let take = || -> io::Result<Self> {
            let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(home)?;
            account.give(directory.path())?;
            let lock = File::create(directory.path().join(LOCK))?;
            lock.lock()?;
            Ok(Self { directory, _lock: lock })
        };
        take().map_err(|error| TargetError::Failed(format!("{}: {error}", home.display())))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

const PREFIX: &str = "run-";
const LOCK: &str = "lock";

/// Removes the directories of runs that were killed: nobody holds their locks.
fn clear_up(home: &Path) {
    for entry in home.read_dir().into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let is_left = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_left {
            // What cannot be removed now is tried again by the next run.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
