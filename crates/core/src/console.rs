//! SQL over one connection.

use crate::target::CallError;

pub type Rows = Vec<Vec<Option<String>>>;

pub trait Console {
    fn version(&self) -> &str;

    fn is_encrypted(&self) -> bool;

    fn rows(&mut self, sql: &str) -> Result<Rows, CallError>;
}
