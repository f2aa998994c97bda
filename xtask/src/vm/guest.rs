//! An emulated machine with hopcost aboard, for tests.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use anyhow::{Result, anyhow};

use super::{Kernel, Vm};
use crate::test::cargo;
use crate::{command, target};

/// What a guest does with the CPUs of a small host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It keeps one busy: two such guests run at a time.
    One = 1,
    /// Its threads wait for each other, and beside another guest's for long: it runs alone.
    All = 2,
}

static TAKEN: Mutex<u32> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// The turn to boot a machine, until it is dropped.
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

/// A machine of this shape with hopcost and its peers aboard, and the turn to boot it.
pub fn guest(shape: &str, kernel: Kernel, load: Load) -> Result<(Vm, Turn)> {
    let turn = Turn::take(load);
    let vm = Vm::new(shape.parse().map_err(anyhow::Error::msg)?, kernel)
        .with(&tested_binary()?, "/usr/local/bin/hopcost")
        .with(Path::new("/usr/bin/numactl"), "/usr/local/bin/numactl")
        .with(Path::new("/usr/bin/lstopo-no-graphics"), "/usr/local/bin/lstopo");
    Ok((vm, turn))
}

/// The binary under test: the one that `HOPCOST_TEST_BINARY` names, or the debug build as it is now.
pub fn tested_binary() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    if let Some(named) = std::env::var_os("HOPCOST_TEST_BINARY") {
        return Ok(named.into());
    }
    let built = BUILT.get_or_init(|| {
        let mut build = cargo();
        build.args(["build", "--quiet", "--package", "hopcost"]);
        command::run(&mut build).map_err(|error| format!("{error:#}"))
    });
    built.as_ref().map_err(|error| anyhow!("{error}"))?;
    Ok(target().join("debug/hopcost"))
}

/// A saboteur for tests, from the examples of `hopcost-sys`, which `cargo test` builds.
pub fn saboteur(name: &str) -> Result<PathBuf> {
    let built = target().join("debug/examples").join(name);
    if !built.is_file() {
        let example = ["build", "--quiet", "--package", "hopcost-sys", "--example", name];
        command::run(cargo().args(example))?;
    }
    Ok(built)
}
