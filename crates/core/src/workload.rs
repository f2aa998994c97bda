//! Interface between a workload and its driver.
//!
//! A workload is pure: request n of a client is the same on every machine and database, and the
//! right answer follows from the data set alone.

use crate::answer::Answer;
use crate::known::Reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the data set's main table.
    pub rows: u64,
    /// A long query is asked slice by slice of the clustered key, so that a window holds many
    /// calls.
    pub sliced: bool,
}

/// A statement in SQL that every database understands, with `?` for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    pub name: &'static str,
    pub sql: &'static str,
    /// Number of arguments; each may occur once.
    pub arguments: usize,
    pub recompile: bool,
    /// Set if the text is a script in pgbench's format instead of a statement: the names and values
    /// of its initial variables.
    pub script: Option<&'static [(&'static str, &'static str)]>,
}

impl Statement {
    pub const fn of(name: &'static str, sql: &'static str, arguments: usize) -> Self {
        Self { name, sql, arguments, recompile: false, script: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// By its statement, row by row, into one table of all clients.
    Rows {
        /// Rows per call; a target may insert several as a stored procedure would.
        a_call: u64,
        /// The table is emptied at this many rows.
        most: u64,
    },
    /// This many rows per call, the first ones of the table, by the database's quickest way and
    /// ignoring the statement; each client has its own table.
    Bulk(u64),
}

impl Filling {
    pub const fn rows_a_call(self) -> u64 {
        match self {
            Self::Rows { a_call: rows, .. } | Self::Bulk(rows) => rows,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub statement: usize,
    /// Those beyond the statement's number of arguments are ignored.
    pub arguments: [i64; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    pub number: u32,
    pub of: u32,
    pub seed: u64,
}

pub trait Requests: Send {
    fn next(&mut self) -> Request;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    pub name: &'static str,
    pub about: &'static str,
    /// Tables of its data set that it reads; empty if it needs no data.
    pub tables: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Writes,
    Fills(Filling),
}

impl Effect {
    pub const fn filling(self) -> Option<Filling> {
        match self {
            Self::Fills(filling) => Some(filling),
            Self::Reads | Self::Writes => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    pub statements: Vec<Statement>,
    /// Calls that make up one whole query.
    pub calls_per_query: u64,
    pub scratch_bytes: u64,
    pub effect: Effect,
}

impl WorkloadSpec {
    /// Read-only: each call is a whole query, and needs no scratch memory.
    pub const fn of(statements: Vec<Statement>) -> Self {
        Self { statements, calls_per_query: 1, scratch_bytes: 0, effect: Effect::Reads }
    }
}

/// To add one, add one file to `data`.
///
/// No method has a default, so that a wrapper passes on all of them.
pub trait Workload: Sync {
    fn info(&self) -> &WorkloadInfo;

    fn spec(&self, shape: Shape) -> WorkloadSpec;

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests>;

    /// Checks that the same work was done; the error describes what was wrong.
    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason>;
}
