//! Closes all connections to a server, so that every waiting client notices at once.
//!
//! Method: this holds weak references. The sockets are shut down on our side first; then the
//! server, if it still accepts a connection, is asked to end their sessions.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::address::Address;
use super::stream::CloseHandle;

#[derive(Default)]
pub struct OpenConnections(Mutex<Vec<(CloseHandle, u32)>>);

/// A server that takes longer to accept the connection is given up.
pub const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

impl OpenConnections {
    pub fn add(&self, line: CloseHandle, number: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((line, number));
    }

    /// Closes all on our side; returns the server's numbers for them.
    pub fn hang_up(&self) -> Vec<u32> {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (line, _) in &lines {
            line.hang_up();
        }
        lines.into_iter().map(|(_, number)| number).collect()
    }
}

/// For the connection that ends the others' sessions.
pub fn with_short_timeout(address: &Address) -> Address {
    Address { patience: address.patience.min(ABORT_TIMEOUT), ..address.clone() }
}
