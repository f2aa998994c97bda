//! **duckdb**: DuckDB, a columnar engine, in one process for each data placement.
//!
//! Method: libduckdb is loaded at run time (`ffi`), so that the user's own version is measured.
//! Placement and calls are the same as for every hosted library (`hosted`). A load uses an appender
//! into a table of the session.

mod ffi;
mod library;

pub use library::DuckDb;
