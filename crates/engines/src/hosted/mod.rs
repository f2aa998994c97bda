//! Databases that are a library: hopcost loads it in a process of its own for each home of the data.
//!
//! Method: hopcost starts itself anew in that place, by a word that nobody else would say (`process`). That process
//! loads the library and the data, and answers over a Unix socket, with a thread for each session that is pinned where
//! the experiment wants the work done. Where the data lies is read back by the kernel. A load brings its rows into a
//! table of the session's own.
//!
//! Limits: each query is worked on by the thread that asks it, unless an experiment is about parallel workers (`pool`).
//! There is no log of changes. What a query looks up is not counted: it may be any memory of the process.

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
