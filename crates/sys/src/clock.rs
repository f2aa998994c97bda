//! The clock. Everything else asks here, so that tidy can tell who reads time.
//!
//! `CLOCK_MONOTONIC` around batches of at least 10 ms needs no cycle counter: the call costs some
//! 25 ns, less than 3 ppm of a batch. The batches of the core-to-core probe are shorter (100 µs) and
//! still lose less than 0.1 %.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[allow(clippy::disallowed_methods)] // the one place that may
pub fn now() -> Instant {
    Instant::now()
}

/// Seconds since 1970, for records that outlive the process.
#[allow(clippy::disallowed_methods)] // the one place that may
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// Nanoseconds since 1970, for what has to be told apart from another process of the same second.
#[allow(clippy::disallowed_methods)] // the one place that may
pub fn unix_nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as u64
}

/// CPU time that all threads of this process have used, ended ones included.
pub fn process_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours. The clock exists since Linux 2.6.12.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// How long `work` took.
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let result = work();
    (result, start.elapsed())
}

/// Keeps this thread busy for so long; how long it really was. Without a PAUSE in the loop: a hypervisor
/// takes a guest's CPU that pauses again and again for one that waits for a lock, and gives it away.
pub fn spin(at_least: Duration) -> Duration {
    let start = now();
    loop {
        let passed = start.elapsed();
        if passed >= at_least {
            return passed;
        }
    }
}
