//! **duckdb**: DuckDB, a columnar engine that lives inside a process: here in one of its own for each home of the
//! data.
//!
//! Method: libduckdb is found and loaded when it is needed (`ffi`), so that the user's own version is measured; where
//! it is placed, and how it is asked, is the same for every such library (`hosted`). A load is an appender's, into a
//! table of the session's own.

mod ffi;
mod library;

pub use library::DuckDb;
