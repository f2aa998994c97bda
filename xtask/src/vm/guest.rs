//! Emulated machines with hopcost, for tests.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use anyhow::Result;

use super::{Kernel, Vm};
use crate::cargo::tested_hopcost;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Keeps one CPU busy: two such guests run at a time.
    One = 1,
    /// Its threads wait for each other, which takes long beside another guest: it runs alone.
    All = 2,
}

static TAKEN: Mutex<u32> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

pub struct Turn(Load);

impl Turn {
    fn take(load: Load) -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_too_much = |taken: &mut u32| *taken + load as u32 > Load::All as u32;
        let taken = GIVEN_BACK.wait_while(taken, is_too_much);
        *taken.unwrap_or_else(PoisonError::into_inner) += load as u32;
        Self(load)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= self.0 as u32;
        GIVEN_BACK.notify_all();
    }
}

/// With hopcost, numactl and hwloc, and the turn to boot it.
pub fn guest(shape: &str, kernel: Kernel, load: Load) -> Result<(Vm, Turn)> {
    let turn = Turn::take(load);
    let vm = Vm::new(shape.parse().map_err(anyhow::Error::msg)?, kernel)
        .with(&tested_hopcost()?, "/usr/local/bin/hopcost")
        .with(Path::new("/usr/bin/numactl"), "/usr/local/bin/numactl")
        .with(Path::new("/usr/bin/lstopo-no-graphics"), "/usr/local/bin/lstopo");
    Ok((vm, turn))
}
