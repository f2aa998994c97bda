//! SQL over one connection.

use crate::target::CallError;

/// The rows of an answer, as text.
pub type Rows = Vec<Vec<Option<String>>>;

/// A connection to a server that is asked about itself.
pub trait Console {
    /// The server's version, as it says it.
    fn version(&self) -> &str;

    /// Is it TLS?
    fn is_encrypted(&self) -> bool;

    /// Asks, and takes all rows.
    fn rows(&mut self, sql: &str) -> Result<Rows, CallError>;
}
