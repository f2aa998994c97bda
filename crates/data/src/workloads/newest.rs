//! **newest_unbounded** and **newest_bounded**: the newest date of a huge view.
//!
//! The view is a UNION ALL of ten joins. Every table has a date index, yet a bare MAX reads all
//! rows of all joins: an index does not know which rows the join keeps. With a lower bound known to
//! the business (the newest is of the last 20 days), each join can start there in the index. The
//! view is a sub-select, so that no target has to create one. There are no slices: a part of the
//! view is another question.

use hopcost_core::{
    Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::answers::compare;
use super::requests::of_first;
use crate::datasets::archive_view::{US_PER_DAY, newest_us};

pub struct Newest {
    info: WorkloadInfo,
    bounded: bool,
}

const TABLES: &[&str] = &[
    "branch",
    "account",
    "txn_2016",
    "txn_2017",
    "txn_2018",
    "txn_2019",
    "txn_2020",
    "txn_2021",
    "txn_2022",
    "txn_2023",
    "txn_2024",
    "txn_current",
];

pub const UNBOUNDED: Newest = Newest {
    info: WorkloadInfo {
        name: "newest_unbounded",
        about: "the newest date of a view over ten joined tables, looked for everywhere",
        tables: TABLES,
    },
    bounded: false,
};
pub const BOUNDED: Newest = Newest {
    info: WorkloadInfo {
        name: "newest_bounded",
        about: "the newest date of a view over ten joined tables, looked for in the last 20 days",
        tables: TABLES,
    },
    bounded: true,
};

const DAYS: i64 = 20;

macro_rules! joined {
    ($table:literal) => {
        concat!(
            "SELECT t.txn_id, t.stamped_at, t.amount, a.holder, b.branch_name FROM ",
            $table,
            " AS t JOIN account AS a ON a.account_id = t.account_id \
             JOIN branch AS b ON b.branch_id = a.branch_id"
        )
    };
}

macro_rules! newest {
    ($bound:literal, $first:literal $(, $table:literal)*) => {
        concat!(
            "SELECT max(v.stamped_at) FROM (",
            joined!($first),
            $(" UNION ALL ", joined!($table),)*
            ") AS v",
            $bound
        )
    };
    ($bound:literal) => {
        newest!(
            $bound, "txn_2016", "txn_2017", "txn_2018", "txn_2019", "txn_2020", "txn_2021",
            "txn_2022", "txn_2023", "txn_2024", "txn_current"
        )
    };
}

impl Workload for Newest {
    fn info(&self) -> &WorkloadInfo {
        &self.info
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        let (sql, arguments) =
            if self.bounded { (newest!(" WHERE v.stamped_at >= ?"), 1) } else { (newest!(""), 0) };
        WorkloadSpec::of(vec![Statement::of(self.info.name, sql, arguments)])
    }

    fn requests(&self, shape: Shape, _: Stream) -> Box<dyn Requests> {
        let from_us = bound_us(shape);
        of_first(move || [from_us, 0, 0, 0])
    }

    fn check(&self, shape: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        let right = Answer::of(Row::new().integer(newest_us(shape.rows)));
        compare(self.info.name, answer, &right)
    }
}

fn bound_us(shape: Shape) -> i64 {
    let today = newest_us(shape.rows) / US_PER_DAY;
    (today + 1 - DAYS) * US_PER_DAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::archive_view::ArchiveView;
    use crate::workloads::on_sqlite::Database;

    const STREAM: Stream = Stream { number: 0, of: 1, seed: 1 };

    fn database(rows: u64) -> (Database, Shape) {
        let database = Database::of(&ArchiveView, rows, TABLES);
        (database, Shape { rows, sliced: false })
    }

    #[test]
    fn a_database_finds_the_same_date_both_ways() {
        for rows in [1, 10, 1000] {
            let (database, shape) = database(rows);
            for workload in [UNBOUNDED, BOUNDED] {
                let request = workload.requests(shape, STREAM).next();
                database.assert_right(&workload, shape, &request);
            }
        }
    }

    #[test]
    fn the_bound_is_a_midnight_and_leaves_few_rows() {
        let shape = Shape { rows: 20_000, sliced: false };
        let bound = BOUNDED.requests(shape, STREAM).next().arguments[0];
        assert_eq!(bound % US_PER_DAY, 0);
        // 2025-12-12: the newest is of the last day of the year.
        assert_eq!(bound / 1_000_000, 1_767_225_600 - 20 * 86_400);
    }

    #[test]
    fn only_the_bound_lets_every_join_begin_in_the_index_of_dates() {
        let (database, shape) = database(1000);
        let steps_on_transactions = |workload: &Newest| {
            let plan = database.plan(workload, shape).into_iter();
            let is_on_transactions =
                |step: &String| step.starts_with("SCAN t") || step.starts_with("SEARCH t ");
            let steps: Vec<String> = plan.filter(is_on_transactions).collect();
            assert_eq!(steps.len(), 10, "{steps:?}");
            steps
        };
        let bare = steps_on_transactions(&UNBOUNDED);
        assert!(bare.iter().all(|step| step == "SCAN t"), "{bare:#?}");
        let bounded = steps_on_transactions(&BOUNDED);
        let seeks = |step: &String| {
            step.starts_with("SEARCH t USING INDEX txn_") && step.ends_with("(stamped_at>?)")
        };
        assert!(bounded.iter().all(seeks), "{bounded:#?}");
    }
}
