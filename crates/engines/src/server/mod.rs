//! What all database servers share: addresses, connections, and starting and stopping managed ones.

pub mod account;
pub mod address;
pub mod attached;
pub mod audit_log;
pub mod call;
pub mod channel;
pub mod cluster;
mod connection;
pub mod copy;
pub mod dialect;
pub mod ffi;
pub mod filling;
#[cfg(test)]
pub mod foreign;
pub mod input;
pub mod loader;
pub mod managed;
pub mod memory;
pub mod nodes;
pub mod open_connections;
pub mod parallel_load;
pub mod process;
pub mod reader;
pub mod run_directory;
pub mod socket;
pub mod stream;
pub mod tables;
pub mod target;
mod tls;
pub mod version;
pub mod waits;
pub mod wire;
pub mod wrong;

use std::fmt::Display;

use hopcost_core::{Column, Dataset, Request, Setup, Stream, TargetError};

/// The database or schema that hopcost makes in a server.
pub const DATABASE: &str = "hopcost";

pub fn dataset_named(name: &str) -> Option<&'static dyn Dataset> {
    hopcost_data::datasets::DATASETS.iter().copied().find(|dataset| dataset.name() == name)
}

pub const SERVED: &str = "threads with 32 or more connections sent and received through io_uring";

pub const FOREIGN: &str = "this server has a database 'hopcost' that hopcost did not make, or was killed while it made it: \
    rename it, drop it where it is empty, or go to another server";

/// Escapes a text for single quotes in SQL.
pub fn in_quotes(text: &str) -> String {
    text.replace('\'', "''")
}

#[allow(clippy::needless_pass_by_value)] // it is made for map_err
pub fn failed(error: impl Display) -> TargetError {
    TargetError::Failed(error.to_string())
}

/// A statement with each `?` replaced by a literal.
pub fn with_literals(sql: &str, mut literals: impl Iterator<Item = String>) -> String {
    let mut pieces = sql.split('?');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |sql, piece| sql + &literals.next().unwrap_or_default() + piece)
}

/// The column that each argument is compared with; `None` if the data set has none such.
pub fn compared_with(sql: &str, dataset: Option<&dyn Dataset>) -> Vec<Option<Column>> {
    let tables = dataset.map_or(Vec::new(), |dataset| dataset.tables(1));
    let named = |name: &str| {
        let mut columns = tables.iter().flat_map(|table| table.columns);
        columns.find(|column| column.name == name).copied()
    };
    let before = sql.split('?').take(sql.matches('?').count());
    let column = |text: &str| {
        let column = text.trim_end_matches(|c: char| " <>=(".contains(c));
        let start = column.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        named(start.map_or(column, |start| &column[start + 1..]))
    };
    before.map(column).collect()
}

/// The first request's arguments for each statement; zeros if the workload has none.
pub fn first_arguments(setup: &Setup<'_>) -> Vec<[i64; 4]> {
    let statements = setup.spec().statements.len();
    let mut arguments = vec![[0; 4]; statements];
    let mut requests = setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 1 });
    let first: Vec<Request> = (0..REQUESTS).map(|_| requests.next()).collect();
    // Reversed, so that each statement's first request wins.
    for request in first.into_iter().rev() {
        if let Some(of_statement) = arguments.get_mut(request.statement) {
            *of_statement = request.arguments;
        }
    }
    arguments
}

const REQUESTS: usize = 64;
