//! **memory_insert**, **memory_inserts**, **bulk_load**: tables in memory, filled row by row by all streams
//! together, one in a call or as many as a stored procedure would, or by each stream alone with thousands of
//! rows at once.
//!
//! After two questions that others asked of SQL Server: where the sessions stand that insert into a table in
//! memory (Chris Adkin, 'The In-Memory OLTP Engine and NUMA Foreign Memory Access', chrisadkin.io, 2016-05-07),
//! and what more sockets do to loading ('Columnstore Loading on Eight Socket Servers', erikdarlingdata.com).
//! Here streams insert without end, tables are emptied between windows, and a load is of 5,000 rows, so that a
//! window holds many. The answer is how many rows the call brought; how many are there the target counts.

use hopcost_core::{
    Answer, Effect, Filling, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload,
    WorkloadInfo, WorkloadSpec,
};

use super::compare;
use crate::datasets::big_table_im::{INSERT, parts};

/// Rows that are inserted each by itself. The fourth argument of a call is the number of its first.
pub struct MemoryInsert {
    info: WorkloadInfo,
    rows: u64,
}

/// One row a call.
pub const ONE: MemoryInsert = MemoryInsert {
    info: WorkloadInfo {
        name: "memory_insert",
        about: "one row inserted into a table in memory that all streams fill, under a random UUID",
        tables: &["big_table_im"],
    },
    rows: 1,
};
/// As many as a stored procedure would insert: what a call costs the harness is lost in what they cost.
pub const HUNDRED: MemoryInsert = MemoryInsert {
    info: WorkloadInfo {
        name: "memory_inserts",
        about: "100 rows inserted in a call, one by one as a stored procedure would; for hashtable",
        tables: &["big_table_im"],
    },
    rows: 100,
};
/// Many at once.
pub struct BulkLoad;

/// Rows of one load.
const LOAD_ROWS: u64 = 5_000;

impl Workload for MemoryInsert {
    fn info(&self) -> &WorkloadInfo {
        &self.info
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        WorkloadSpec {
            effect: Effect::Fills(Filling::Rows { a_call: self.rows, most: shape.rows }),
            ..WorkloadSpec::of(vec![Statement::of(self.info.name, INSERT, 3)])
        }
    }

    fn requests(&self, _: Shape, stream: Stream) -> Box<dyn Requests> {
        Box::new(Inserts { next: first_row(stream), rows: self.rows })
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        let right = Answer::of(Row::new().integer(self.rows.cast_signed()));
        compare(self.info.name, answer, &right)
    }
}

/// Far enough from other streams' rows that none comes twice.
fn first_row(stream: Stream) -> u64 {
    u64::from(stream.number) << 48 | (stream.seed & 0xff) << 40
}

struct Inserts {
    next: u64,
    rows: u64,
}

impl Requests for Inserts {
    fn next(&mut self) -> Request {
        let first = self.next;
        let [key, at, digits] = parts(first);
        self.next += self.rows;
        Request { statement: 0, arguments: [key, at, digits, first.cast_signed()] }
    }
}

impl Workload for BulkLoad {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "bulk_load",
            about: "5,000 rows at once, by COPY where there is one, each stream into a table of its own",
            tables: &["big_table_im"],
        }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec {
            effect: Effect::Fills(Filling::Bulk(LOAD_ROWS)),
            ..WorkloadSpec::of(vec![Statement::of("bulk_load", "COPY big_table_im FROM STDIN", 0)])
        }
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        Box::new(Loads)
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        compare("bulk_load", answer, &Answer::of(Row::new().integer(LOAD_ROWS.cast_signed())))
    }
}

struct Loads;

impl Requests for Loads {
    fn next(&mut self) -> Request {
        Request { statement: 0, arguments: [0; 4] }
    }
}
