//! Hanging up on a server: whoever waits for its answer finds out at once.
//!
//! Method: connections are known here without being kept open by it. They are shut down on our side,
//! whatever the other end does; then the server, if it still lets somebody in, is told to end what it
//! does for them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::super::remote::address::Address;
use super::super::remote::stream::Line;
use super::wire::Wire;

/// The connections to a server, and the processes that serve them.
#[derive(Default)]
pub struct Lines(Mutex<Vec<(Line, u32)>>);

/// A server that does not let us in so soon has other troubles.
const FAREWELL: Duration = Duration::from_secs(5);

impl Lines {
    /// One more.
    pub fn add(&self, wire: &Wire) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push((wire.line(), wire.pid));
    }

    /// Ends them all, on our side and on the server's.
    pub fn hang_up(&self, address: &Address) {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (line, _) in &lines {
            line.hang_up();
        }
        let pids: Vec<String> = lines.iter().map(|(_, pid)| pid.to_string()).collect();
        let patience = address.patience.min(FAREWELL);
        let Ok(mut wire) = Wire::connect(&Address { patience, ..address.clone() }) else {
            return;
        };
        // A number may be somebody else's by now.
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN ({}) \
             AND application_name = 'hopcost' AND usename = current_user",
            pids.join(", ")
        );
        let _ = wire.limit(Some(FAREWELL)).and_then(|()| wire.query(&end));
    }
}
