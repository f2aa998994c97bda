//! Databases that are a library: hopcost hosts each in one process per data placement.
//!
//! Method: hopcost starts itself there with a hidden argument (`process`). That process loads
//! library and data, and answers over a Unix socket with one thread for each session, pinned as the
//! experiment says. The data's place is read back from the kernel. A load fills a table of the
//! session.
//!
//! Limits: a query runs in its session's thread, unless parallel workers are varied (`pool`). There
//! is no log. Page accesses are not counted: a query may read any memory of the process.

mod audit;
mod copy;
mod instance;
mod library;
mod pool;
mod process;
mod protocol;
mod session;
mod target;
mod wire;
mod work;

pub use library::{
    Appender, Connection, Database, Library, LibraryError, LibraryInfo, LibraryResult, Prepared,
};
pub use process::serve_if_asked;
pub use target::Hosted;
