//! The directory of a managed server while it runs.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use hopcost_core::TargetError;

use super::account::Account;

pub struct RunDirectory {
    directory: tempfile::TempDir,
    _lock: File,
}

impl RunDirectory {
    /// A new one below `home`, after removing those of killed runs.
    pub fn take(account: &Account, home: &Path) -> Result<Self, TargetError> {
        let take = || -> io::Result<Self> {
            // One at a time: a lock file that is not locked yet looks like that of a killed run.
            let turn = File::open(home)?;
            turn.lock()?;
            clear_up(home);
            let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(home)?;
            account.give(directory.path())?;
            let lock = File::create(directory.path().join(LOCK))?;
            lock.lock()?;
            Ok(Self { directory, _lock: lock })
        };
        take().map_err(|error| TargetError::Failed(format!("{}: {error}", home.display())))
    }

    /// The same for a server with a Unix socket in it, whose path must not be too long.
    pub fn take_for_sockets(account: &Account, home: &Path) -> Result<Self, TargetError> {
        let room = SOCKET_BYTES - BELOW_HOME.len();
        let too_long = home.as_os_str().len().saturating_sub(room);
        if too_long > 0 {
            let plural = if too_long == 1 { "" } else { "s" };
            return Err(TargetError::Failed(format!(
                "{}: this path is {too_long} byte{plural} too long for a server's socket below it: name a \
                 shorter directory with --cache-dir",
                home.display()
            )));
        }
        Self::take(account, home)
    }

    /// An empty database at `data`. Creating one takes seconds, and all of a version are equal: the
    /// first is kept as `kept`, the others are copies of it.
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

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

const PREFIX: &str = "run-";
/// The most bytes of a socket's path (`sun_path` without its NUL).
const SOCKET_BYTES: usize = 107;
/// The longest path of a socket below `home`.
const BELOW_HOME: &str = "/run-123456/.s.PGSQL.54321";
const LOCK: &str = "lock";

/// Renames a complete directory to `name`. If another hopcost was first, its data is the same.
pub fn keep(new: &Path, name: &Path) -> Result<(), TargetError> {
    match fs::rename(new, name) {
        Err(error) if !name.is_dir() => {
            Err(TargetError::Failed(format!("{}: {error}", name.display())))
        }
        _ => Ok(()),
    }
}

/// Removes the directories of killed runs, whose locks are free.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_clears_up_never_takes_a_run_that_begins() {
        let home = tempfile::tempdir().unwrap();
        let take = || {
            for _ in 0..2000 {
                let directory = RunDirectory::take(&Account::OURSELVES, home.path()).unwrap();
                std::thread::yield_now();
                assert!(directory.path().join(LOCK).exists());
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(take);
            scope.spawn(take);
        });
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_told_before_a_server_is_started() {
        let dir = tempfile::tempdir().unwrap();
        let of_length = |length: usize| {
            let home = dir.path().join("x".repeat(length - 1 - dir.path().as_os_str().len()));
            fs::create_dir(&home).unwrap();
            RunDirectory::take_for_sockets(&Account::OURSELVES, &home).map(|directory| {
                let socket = directory.path().join(".s.PGSQL.54321");
                std::os::unix::net::UnixListener::bind(socket).unwrap();
            })
        };
        of_length(81).unwrap();
        let error = of_length(82).unwrap_err().to_string();
        assert!(error.contains("1 byte too long") && error.contains("--cache-dir"), "{error}");
    }

    #[test]
    fn an_empty_database_is_made_once_and_copied() {
        let home = tempfile::tempdir().unwrap();
        let kept = home.path().join("1.2-empty");
        let mut made = 0;
        for _ in 0..2 {
            let directory = RunDirectory::take(&Account::OURSELVES, home.path()).unwrap();
            let data = directory.path().join("data");
            let create = |data: &Path| {
                made += 1;
                fs::create_dir(data).and_then(|()| fs::write(data.join("file"), "row")).unwrap();
                Ok(())
            };
            directory.create_database(&Account::OURSELVES, &kept, &data, create).unwrap();
            fs::write(data.join("file"), "changed").unwrap();
        }
        assert_eq!(made, 1);
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "row");
    }
}
