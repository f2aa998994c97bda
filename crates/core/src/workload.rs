//! The contract between what is asked of a database and whoever asks it.
//!
//! A workload is pure: request n of a stream is the same on every machine and every database, and
//! what a right answer is follows from the data set alone.

use crate::answer::Answer;
use crate::known::Reason;

/// How large the data is, and whether long queries are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the data set's main table.
    pub rows: u64,
    /// Is a long query asked slice by slice of the clustered key, so that a window holds many calls?
    pub sliced: bool,
}

/// One statement of a workload, in SQL that every database understands, `?` for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    pub name: &'static str,
    pub sql: &'static str,
    /// How many arguments it takes; each may stand in it once.
    pub arguments: usize,
    /// Is it to be compiled anew for each call?
    pub recompile: bool,
    /// Is its text no statement but a script in pgbench's format, several statements with variables? Then
    /// those that it begins with: their names, and what they hold.
    pub script: Option<&'static [(&'static str, &'static str)]>,
}

impl Statement {
    pub const fn of(name: &'static str, sql: &'static str, arguments: usize) -> Self {
        Self { name, sql, arguments, recompile: false, script: None }
    }
}

/// How a workload fills tables with rows of its own, where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Row by row, by its statement, into one table of all streams.
    Rows {
        /// In a call: several as a stored procedure would insert them, where a target can.
        a_call: u64,
        /// The table is emptied when it holds so many.
        most: u64,
    },
    /// So many rows a call, the first ones of its table, by the quickest way that the database has for them
    /// and whatever its statement says; each stream into a table of its own.
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
    /// Which of the workload's statements, by position.
    pub statement: usize,
    /// Its arguments; those beyond the statement's number mean nothing.
    pub arguments: [i64; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// The seed that all of them share.
    pub seed: u64,
}

/// The requests of one stream, without end.
pub trait Requests: Send {
    fn next(&mut self) -> Request;
}

/// What a workload is called, and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// Its name in experiment files and on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// Which tables of its data set it reads, by name; none if it needs no data.
    pub tables: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// What the statement itself writes.
    Writes,
    /// Rows, in tables that it fills itself.
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

/// All that is to be known of a workload before the first call, for data of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// Its statements; requests name them by position.
    pub statements: Vec<Statement>,
    /// How many calls make one whole query.
    pub calls_per_query: u64,
    /// Bytes of scratch memory that one call takes.
    pub scratch_bytes: u64,
    pub effect: Effect,
}

impl WorkloadSpec {
    /// Of a workload that only reads: each call a whole query, and no scratch memory.
    pub const fn of(statements: Vec<Statement>) -> Self {
        Self { statements, calls_per_query: 1, scratch_bytes: 0, effect: Effect::Reads }
    }
}

/// A workload. A new one is one file in `data`.
///
/// Nothing here has a default: what stands around another workload passes on all of it.
pub trait Workload: Sync {
    fn info(&self) -> &WorkloadInfo;

    /// All that is to be known before the first call.
    fn spec(&self, shape: Shape) -> WorkloadSpec;

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests>;

    /// Was the same work done? Else what was wrong.
    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason>;
}
