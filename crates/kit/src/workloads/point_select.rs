//! **point_select**: one row by its key, the shortest question that reads anything.
//!
//! It is asked by hand, by `hopcost drive`: what a call costs beside the database itself is seen best where the
//! database has least to do.

use fastrand::Rng;
use hopcost_core::{Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload};

use super::compare;
use super::slices::dice;
use crate::datasets::tpcc::{ITEMS, price};

/// The workload.
pub struct PointSelect;

impl Workload for PointSelect {
    fn name(&self) -> &'static str {
        "point_select"
    }

    fn about(&self) -> &'static str {
        "one item of TPC-C's by its key, drawn anew for each call"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["item"]
    }

    fn statements(&self, _: Shape) -> Vec<Statement> {
        vec![Statement {
            name: "point_select",
            sql: "SELECT i_id, i_price FROM item WHERE i_id = ?",
            arguments: 1,
            recompile: false,
            script: None,
        }]
    }

    fn calls_per_query(&self, _: Shape) -> u64 {
        1
    }

    fn scratch_bytes(&self, _: Shape) -> u64 {
        0
    }

    fn requests(&self, _: Shape, stream: Stream) -> Box<dyn Requests> {
        Box::new(Keys(dice(stream)))
    }

    fn check(&self, _: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let item = request.arguments[0];
        let row = Row::new().integer(item).integer(price(item.cast_unsigned()));
        compare("point_select", answer, &Answer::of(row))
    }
}

struct Keys(Rng);

impl Requests for Keys {
    fn next(&mut self) -> Request {
        let item = self.0.u64(1..=ITEMS).cast_signed();
        Request { statement: 0, arguments: [item, 0, 0, 0] }
    }
}
