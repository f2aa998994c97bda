//! Time of day and durations as text.
#![allow(clippy::disallowed_methods)] // hopcost's own clock is not worth building hopcost for

use std::time::{Duration, Instant, SystemTime};

pub fn now() -> Instant {
    Instant::now()
}

pub fn since_1970() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `4:05`, minutes and seconds.
pub fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}
