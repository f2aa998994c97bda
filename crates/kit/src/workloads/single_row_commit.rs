//! **single_row_commit**: one row inserted, and durable when the call returns.
//!
//! The published inserter committed a million such rows one after the other. The answer is how many rows
//! were inserted: one.

use hopcost_core::{Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload};

use super::compare;

/// The workload.
pub struct SingleRowCommit;

impl Workload for SingleRowCommit {
    fn name(&self) -> &'static str {
        "single_row_commit"
    }

    fn about(&self) -> &'static str {
        "one row inserted and committed for good, again and again"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["insert_test"]
    }

    fn statements(&self, _: Shape) -> Vec<Statement> {
        vec![Statement {
            name: "single_row_commit",
            sql: "INSERT INTO insert_test (number) VALUES (?)",
            arguments: 1,
            recompile: false,
            script: None,
        }]
    }

    fn only_reads(&self) -> bool {
        false
    }

    fn calls_per_query(&self, _: Shape) -> u64 {
        1
    }

    fn scratch_bytes(&self, _: Shape) -> u64 {
        0
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        Box::new(Counting(0))
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        compare("single_row_commit", answer, &Answer::of(Row::new().integer(1)))
    }
}

struct Counting(i64);

impl Requests for Counting {
    fn next(&mut self) -> Request {
        self.0 += 1;
        Request { statement: 0, arguments: [self.0, 0, 0, 0] }
    }
}
