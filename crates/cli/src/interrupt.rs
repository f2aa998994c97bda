//! Ctrl-C: the first stops the work after its current sample, and all changes are undone. The
//! second exits at once with code 1; `hopcost restore` then cleans up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Set by SIGINT, SIGTERM and SIGHUP.
pub fn watch() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: only a second signal finds the flag set.
        flag::register_conditional_shutdown(signal, Exit::Failed as i32, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
