//! **point_select**: one row by its key, the shortest question that reads anything.
//!
//! It is asked by hand, by `hopcost drive`: what a call costs beside the database itself is seen best where the
//! database has least to do.

use fastrand::Rng;
use hopcost_core::{
    Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::compare;
use super::slices::dice;
use crate::datasets::tpcc::{ITEMS, price};

/// The workload.
pub struct PointSelect;

impl Workload for PointSelect {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "point_select",
            about: "one item of TPC-C's by its key, drawn anew for each call",
            tables: &["item"],
        }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec::of(vec![Statement::of(
            "point_select",
            "SELECT i_id, i_price FROM item WHERE i_id = ?",
            1,
        )])
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
