//! Measurements in one SQLite file that any SQLite client can query.
//!
//! RULE: the only owner of the schema. Each part of a run is on disk, in a transaction of its own,
//! before the next part starts: a killed run keeps its finished parts.

mod digest;
mod error;
mod header;
mod kept;
mod schema;
mod store;
#[cfg(test)]
mod tests;

pub use digest::{Key, host_key, key};
pub use error::StoreError;
pub use header::{Decided, Header};
pub use kept::{
    Baseline, Kept, KeptCall, KeptFigure, Listed, NewRun, Resumable, Unfinished, Whose,
};
pub use store::Store;
