//! Turns on this machine: what measures has it alone, among all runs of these tests.
//!
//! Method: a lock on a directory that every machine has. Nothing is written for it, and it goes with its process.

use std::fs::{File, TryLockError};

use anyhow::{Context, Result};

const OF_ALL_RUNS: &str = "/var/lib";

/// Held until it is dropped.
pub struct Turn {
    _lock: File,
}

impl Turn {
    /// Beside others who take theirs so.
    pub fn beside() -> Result<Self> {
        let lock = open()?;
        lock.lock_shared().context(OF_ALL_RUNS)?;
        Ok(Self { _lock: lock })
    }

    /// With nobody else; says so if it has to be waited for.
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

    /// With nobody else, if nobody else is there.
    pub fn alone_at_once() -> Option<Self> {
        let lock = open().ok()?;
        lock.try_lock().ok().map(|()| Self { _lock: lock })
    }
}

fn open() -> Result<File> {
    File::open(OF_ALL_RUNS).context(OF_ALL_RUNS)
}
