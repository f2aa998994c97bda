//! **null_call**: a constant row, no table.
//!
//! It measures the round trip and its thread switches. The published test called procedures that
//! return a constant row; a plain statement works on every database.

use hopcost_core::{
    Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::answers::compare;
use super::requests::of_first;

pub struct NullCall;

impl Workload for NullCall {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "null_call",
            about: "a call that returns a constant row and reads no table",
            tables: &[],
        }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec::of(vec![Statement::of("null_call", "SELECT 1", 0)])
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        of_first(|| [0; 4])
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        compare("null_call", answer, &Answer::of(Row::new().integer(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::on_sqlite::Database;

    #[test]
    fn a_database_returns_the_row() {
        let shape = Shape { rows: 1, sliced: false };
        let request = NullCall.requests(shape, Stream { number: 0, of: 1, seed: 1 }).next();
        Database::with(1).assert_right(&NullCall, shape, &request);
    }
}
