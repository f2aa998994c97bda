//! libduckdb, loaded when it is needed, and the part of its C interface that hopcost uses.
//!
//! Everything unsafe about DuckDB is here: the functions below take and give what is safe to have.
#![allow(unsafe_code)] // the library speaks C

mod api;
mod appender;
mod connection;
mod rows;

pub use appender::Appender;
pub use connection::{Connection, Database};
pub use rows::Value;
