//! What hopcost measured, kept in one SQLite file that any SQLite client can query.
//!
//! RULE: the only owner of the schema. A run is written down when it begins and every part of it when
//! it is finished, each in a transaction of its own that is on disk before the next part starts. So a
//! killed run leaves what it had, and a report never needs a second run.

mod digest;
mod error;
mod header;
mod kept;
mod schema;
mod store;
#[cfg(test)]
mod tests;

pub use digest::{Key, host_key};
pub use error::StoreError;
pub use header::{Decided, Header};
pub use kept::{Baseline, Kept, KeptCall, Listed, NewRun, Resumable, Unfinished, Whose};
pub use store::Store;
