//! A machine-wide lock, so that measuring tests run alone among all test runs.
//!
//! A file lock on a directory that every machine has: nothing is written, and the lock ends with
//! its process.

use std::fs::{File, TryLockError};

use anyhow::{Context, Result};

const OF_ALL_RUNS: &str = "/var/lib";

pub struct Turn {
    _lock: File,
}

impl Turn {
    /// A shared lock.
    pub fn beside() -> Result<Self> {
        let lock = open()?;
        lock.lock_shared().context(OF_ALL_RUNS)?;
        Ok(Self { _lock: lock })
    }

    /// An exclusive lock; prints a message if it has to wait.
    pub fn alone() -> Result<Self> {
        let lock = open()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                println!("xtask: waiting for another run of tests on this machine");
                lock.lock().context(OF_ALL_RUNS)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).context(OF_ALL_RUNS),
        }
        Ok(Self { _lock: lock })
    }

    /// `None` if another process holds the lock.
    pub fn alone_at_once() -> Option<Self> {
        let lock = open().ok()?;
        lock.try_lock().ok().map(|()| Self { _lock: lock })
    }
}

fn open() -> Result<File> {
    File::open(OF_ALL_RUNS).context(OF_ALL_RUNS)
}
