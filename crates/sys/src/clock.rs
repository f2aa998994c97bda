//! The only module that reads clocks.
//!
//! `CLOCK_MONOTONIC` around batches of at least 10 ms needs no cycle counter: a call costs some 25
//! ns, less than 3 ppm of a batch. The core-to-core probe's batches of 100 µs lose less than 0.1%.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[allow(clippy::disallowed_methods)] // the one place that may
pub fn now() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods)] // the one place that may
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// Distinguishes processes that start in the same second.
#[allow(clippy::disallowed_methods)] // the one place that may
pub fn unix_nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as u64
}

/// Of all threads, ended ones included.
pub fn process_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours. The clock exists since Linux 2.6.12.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

pub fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let result = work();
    (result, start.elapsed())
}

/// Returns the actual time. The loop has no PAUSE: a hypervisor takes repeated PAUSE for waiting on
/// a lock, and gives the CPU away.
pub fn spin(at_least: Duration) -> Duration {
    let start = now();
    loop {
        let passed = start.elapsed();
        if passed >= at_least {
            return passed;
        }
    }
}
