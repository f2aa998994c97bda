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
        let failed = |error| TargetError::Failed(format!("{}: {error}", home.display()));
        loop {
            if let Some(quarters) = Self::try_take(account, home).map_err(failed)? {
                return Ok(quarters);
            }
        }
    }

    /// None if somebody who clears up came between the lock and our hold of it: then all of it is gone.
    fn try_take(account: &Account, home: &Path) -> io::Result<Option<Self>> {
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(home)?;
        account.give(directory.path())?;
        let path = directory.path().join(LOCK);
        let lock = File::create(&path)?;
        lock.lock()?;
        Ok(path.exists().then_some(Self { directory, _lock: lock }))
    }

    /// An empty database at `data` below it. Making one takes seconds, and all of a version are the same: the first
    /// is kept in `home`, the others are copies of it.
    pub fn create_database(
        &self,
        account: &Account,
        kept: &Path,
        data: &Path,
        create: impl FnOnce(&Path) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        if !kept.is_dir() {
            let new = self.path().join("empty");
            create(&new)?;
            keep(&new, kept)?;
        }
        account.copy(kept, data)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

const PREFIX: &str = "run-";
const LOCK: &str = "lock";

/// Gives a directory its name now that it is whole. Another hopcost may have been quicker: its data is the same.
pub fn keep(new: &Path, name: &Path) -> Result<(), TargetError> {
    match fs::rename(new, name) {
        Err(error) if !name.is_dir() => {
            Err(TargetError::Failed(format!("{}: {error}", name.display())))
        }
        _ => Ok(()),
    }
}

/// Removes the directories of runs that were killed: nobody holds their locks.
fn clear_up(home: &Path) {
    for entry in home.read_dir().into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        // Held until it is gone, for a run that has just made it.
        if lock.try_lock().is_ok() {
            // What cannot be removed now is tried again by the next run.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn who_clears_up_never_takes_a_run_that_begins() {
        let home = tempfile::tempdir().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    clear_up(home.path());
                }
            });
            for _ in 0..500 {
                let quarters = Quarters::take(&Account::OURSELVES, home.path()).unwrap();
                std::thread::yield_now();
                let is_there = quarters.path().join(LOCK).exists();
                if !is_there {
                    is_over.store(true, Ordering::Relaxed);
                }
                assert!(is_there);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn an_empty_database_is_made_once_and_copied() {
        let home = tempfile::tempdir().unwrap();
        let kept = home.path().join("1.2-empty");
        let mut made = 0;
        for _ in 0..2 {
            let quarters = Quarters::take(&Account::OURSELVES, home.path()).unwrap();
            let data = quarters.path().join("data");
            let create = |data: &Path| {
                made += 1;
                fs::create_dir(data).and_then(|()| fs::write(data.join("file"), "row")).unwrap();
                Ok(())
            };
            quarters.create_database(&Account::OURSELVES, &kept, &data, create).unwrap();
            fs::write(data.join("file"), "changed").unwrap();
        }
        assert_eq!(made, 1);
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "row");
    }
}
