//! **single_row_commit**: one inserted row, durable when the call returns.
//!
//! The published test committed a million such rows in sequence. The answer is the number of rows
//! inserted: one.

use hopcost_core::{
    Answer, Effect, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload,
    WorkloadInfo, WorkloadSpec,
};

use super::answers::compare;
use super::requests::of_first;

pub struct SingleRowCommit;

impl Workload for SingleRowCommit {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "single_row_commit",
            about: "one row inserted and committed for good, again and again",
            tables: &["insert_test"],
        }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec {
            effect: Effect::Writes,
            ..WorkloadSpec::of(vec![Statement::of(
                "single_row_commit",
                "INSERT INTO insert_test (number) VALUES (?)",
                1,
            )])
        }
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        let mut number = 0;
        of_first(move || {
            number += 1;
            [number, 0, 0, 0]
        })
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        compare("single_row_commit", answer, &Answer::of(Row::new().integer(1)))
    }
}
