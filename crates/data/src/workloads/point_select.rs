//! **point_select**: one row by its key.
//!
//! The shortest query that reads data, for `hopcost drive`: it shows the cost of a call outside the
//! database.

use hopcost_core::{
    Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::answers::compare;
use super::requests::{dice, of_first};
use crate::datasets::tpcc::{ITEMS, price};

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
        let mut dice = dice(stream);
        of_first(move || [dice.u64(1..=ITEMS).cast_signed(), 0, 0, 0])
    }

    fn check(&self, _: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let item = request.arguments[0];
        let row = Row::new().integer(item).integer(price(item.cast_unsigned()));
        compare("point_select", answer, &Answer::of(row))
    }
}
