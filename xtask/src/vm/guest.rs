//! An emulated machine with hopcost aboard, for tests.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::{Kernel, Vm};
use crate::test::build_hopcost;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A machine of this shape with hopcost and its peers aboard, and the turn to boot it: each takes all
/// CPUs of a small host.
pub fn guest(shape: &str, kernel: Kernel) -> Result<(Vm, MutexGuard<'static, ()>)> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let vm = Vm::new(shape.parse().map_err(anyhow::Error::msg)?, kernel)
        .with(&build_hopcost()?, "/usr/local/bin/hopcost")
        .with(Path::new("/usr/bin/numactl"), "/usr/local/bin/numactl")
        .with(Path::new("/usr/bin/lstopo-no-graphics"), "/usr/local/bin/lstopo");
    Ok((vm, turn))
}
