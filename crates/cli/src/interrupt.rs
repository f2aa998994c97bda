//! Ctrl-C: the first asks the work to stop after its current sample and put everything back; the
//! second ends it at once with code 1 (and `hopcost restore` puts back what is left).

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// A flag that any of the ending signals sets.
pub fn watch() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag set by the first.
        flag::register_conditional_shutdown(signal, Exit::Failed as i32, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
