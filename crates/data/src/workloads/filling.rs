//! **memory_insert**, **memory_inserts**, **bulk_load**: inserts into tables in memory.
//!
//! After Chris Adkin, 'The In-Memory OLTP Engine and NUMA Foreign Memory Access', chrisadkin.io,
//! 2016-05-07, and 'Columnstore Loading on Eight Socket Servers', erikdarlingdata.com. Clients
//! insert into one table, one row a call or a hundred, or each bulk loads 5,000 rows into its own
//! table. Tables are emptied between windows. The answer is the rows that a call inserted.

use hopcost_core::{
    Answer, Effect, Filling, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload,
    WorkloadInfo, WorkloadSpec,
};

use super::answers::compare;
use super::requests::of_first;
use crate::datasets::big_table_im::{INSERT, parts};

/// Row by row. The fourth argument of a call is the number of its first row.
pub struct MemoryInsert {
    info: WorkloadInfo,
    rows: u64,
}

pub const ONE: MemoryInsert = MemoryInsert {
    info: WorkloadInfo {
        name: "memory_insert",
        about: "one row inserted into a table in memory that all streams fill, under a random UUID",
        tables: &["big_table_im"],
    },
    rows: 1,
};
/// Enough that the harness's cost per call is negligible.
pub const HUNDRED: MemoryInsert = MemoryInsert {
    info: WorkloadInfo {
        name: "memory_inserts",
        about: "100 rows inserted in a call, one by one as a stored procedure would; for hashtable",
        tables: &["big_table_im"],
    },
    rows: 100,
};
pub struct BulkLoad;

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
        let (mut first, rows) = (first_row(stream), self.rows);
        of_first(move || {
            let [key, at, digits] = parts(first);
            let arguments = [key, at, digits, first.cast_signed()];
            first += rows;
            arguments
        })
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        let right = Answer::of(Row::new().integer(self.rows.cast_signed()));
        compare(self.info.name, answer, &right)
    }
}

fn first_row(stream: Stream) -> u64 {
    u64::from(stream.number) << 48 | (stream.seed & 0xff) << 40
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
        of_first(|| [0; 4])
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        compare("bulk_load", answer, &Answer::of(Row::new().integer(LOAD_ROWS.cast_signed())))
    }
}
