//! Hanging up on a server: whoever waits for its answer finds out at once.
//!
//! Method: connections are known here without being kept open by it. They are shut down on our side,
//! whatever the other end does; then the server, if it still lets somebody in, is told to end what it
//! does for them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::address::Address;
use super::stream::CloseHandle;

/// The connections to a server, and its own numbers for them.
#[derive(Default)]
pub struct OpenConnections(Mutex<Vec<(CloseHandle, u32)>>);

/// A server that does not let us in so soon has other troubles.
pub const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

impl OpenConnections {
    /// One more.
    pub fn add(&self, line: CloseHandle, number: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((line, number));
    }

    /// Ends them all on our side: the server's numbers for them, to be ended there.
    pub fn hang_up(&self) -> Vec<u32> {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (line, _) in &lines {
            line.hang_up();
        }
        lines.into_iter().map(|(_, number)| number).collect()
    }
}

/// For who only comes to say that: not patient for long.
pub fn with_short_timeout(address: &Address) -> Address {
    Address { patience: address.patience.min(ABORT_TIMEOUT), ..address.clone() }
}
