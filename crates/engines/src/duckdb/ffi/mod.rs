//! The part of libduckdb's C interface that hopcost uses; the library is loaded at run time.
//!
//! All unsafe code for DuckDB is here; what this module exports is safe.
#![allow(unsafe_code)] // the library speaks C

mod api;
mod appender;
mod connection;
mod rows;

pub use appender::Appender;
pub use connection::{Connection, Database};
pub use rows::Value;
