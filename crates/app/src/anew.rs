//! Executes hopcost anew: a start is a process with all its memory.
//!
//! Method: the environment has a random length, since that moves the stack (T. Mytkowicz and others,
//! "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009). A start ends with
//! hopcost, even a killed one.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use hopcost_sys::child::{self, Place, Stop};

use crate::{InContext, Outcome};

const MOST_PADDING: usize = 4096;
const EVERY: Duration = Duration::from_millis(20);

/// Waits for its exit code; `None` if it was killed. `stop` is passed on once.
pub fn executed_anew(
    arguments: impl Iterator<Item = OsString>,
    seed: u64,
    stop: &AtomicBool,
) -> Outcome<Option<i32>> {
    let own = std::env::current_exe().in_context("the program's own file")?;
    let mut command = Command::new(&own);
    let padding = Rng::with_seed(seed).usize(..MOST_PADDING);
    command.args(arguments).env("HOPCOST_PADDING", "x".repeat(padding)).stdin(Stdio::null());
    let started = child::start(&mut command, &Place::default(), Stop::Soon);
    let mut started = started.in_context(own.display())?;
    let mut is_told = false;
    loop {
        if let Some(status) = started.try_wait().in_context(own.display())? {
            return Ok(status.code());
        }
        if stop.load(Ordering::Relaxed) && !is_told {
            child::stop(&started, Stop::Soon).in_context(own.display())?;
            is_told = true;
        }
        std::thread::sleep(EVERY);
    }
}
