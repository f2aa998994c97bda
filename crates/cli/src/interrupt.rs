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
    // The load monitor stops the work, too: a signal after that is the first one.
    let was_signalled = Arc::new(AtomicBool::new(false));
    let hang_up = (!ignores_hang_ups()).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
        // In this order: only a second signal finds the flag set.
        let second = Arc::clone(&was_signalled);
        flag::register_conditional_shutdown(signal, Exit::Failed as i32, second)?;
        flag::register(signal, Arc::clone(&was_signalled))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// `nohup` asks for that: the work goes on after its terminal is closed.
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_signal_after_another_reason_to_stop_is_the_first() {
        let stop = watch().unwrap();
        stop.store(true, Ordering::Relaxed);
        // A second one would end the tests.
        signal_hook::low_level::raise(SIGINT).unwrap();
        assert!(stop.load(Ordering::Relaxed));
    }
}
