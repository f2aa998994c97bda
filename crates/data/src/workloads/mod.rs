//! The workloads: one file each, registered in [`WORKLOADS`].
//!
//! Statements are plain SQL without hints for SQLite, PostgreSQL, MySQL and SQL Server. Timestamps
//! in arguments and answers are microseconds since 1970. The right answer follows from the data
//! set's rules alone.

mod answers;
mod filling;
mod newest;
mod null_call;
mod oltp;
#[cfg(test)]
mod on_sqlite;
mod own;
mod point_select;
mod reporting_p1;
mod reporting_p2;
mod requests;
mod single_row_commit;
mod slices;

use hopcost_core::Workload;

pub use own::Own;

pub const WORKLOADS: &[&dyn Workload] = &[
    &reporting_p1::ReportingP1,
    &reporting_p2::ReportingP2,
    &reporting_p2::Whole,
    &oltp::STANDARD,
    &oltp::AUGMENTED,
    &newest::UNBOUNDED,
    &newest::BOUNDED,
    &null_call::NullCall,
    &point_select::PointSelect,
    &single_row_commit::SingleRowCommit,
    &filling::ONE,
    &filling::HUNDRED,
    &filling::BulkLoad,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hopcost_core::{Answer, Shape, Stream};

    use super::*;
    use crate::datasets::DATASETS;

    #[test]
    fn each_has_a_name_a_line_and_statements_whose_arguments_add_up() {
        let names: BTreeSet<&str> = WORKLOADS.iter().map(|workload| workload.info().name).collect();
        assert_eq!(names.len(), WORKLOADS.len());
        for workload in WORKLOADS {
            assert!(workload.info().about.len() > 20 && !workload.info().about.contains('\n'));
            for shape in [false, true].map(|sliced| Shape { rows: 100_000, sliced }) {
                for statement in workload.spec(shape).statements {
                    assert_eq!(statement.sql.matches('?').count(), statement.arguments);
                    assert!(statement.arguments <= 4);
                }
                assert!(workload.spec(shape).calls_per_query >= 1);
            }
        }
    }

    #[test]
    fn each_reads_tables_of_one_data_set() {
        for workload in WORKLOADS {
            let has_all = |names: &[&str]| {
                DATASETS.iter().any(|dataset| {
                    let tables = dataset.tables(1);
                    names.iter().all(|name| tables.iter().any(|table| table.name == *name))
                })
            };
            assert!(has_all(workload.info().tables), "{}", workload.info().name);
        }
    }

    #[test]
    fn a_stream_is_the_same_every_time_and_every_request_is_one_of_its_statements() {
        for workload in WORKLOADS {
            let shape = Shape { rows: 100_000, sliced: true };
            let stream = Stream { number: 1, of: 4, seed: 1986 };
            let statements = workload.spec(shape).statements.len();
            let [mut one, mut other] = [(); 2].map(|()| workload.requests(shape, stream));
            for _ in 0..100 {
                let request = one.next();
                assert_eq!(request, other.next());
                assert!(request.statement < statements);
            }
        }
    }

    #[test]
    fn a_wrong_answer_is_refused_in_words() {
        for workload in WORKLOADS {
            let shape = Shape { rows: 100_000, sliced: true };
            let request = workload.requests(shape, Stream { number: 0, of: 1, seed: 1 }).next();
            let refused = |rows, digest| {
                let answer = Answer { rows, digest };
                workload.check(shape, &request, &answer).unwrap_err().as_str().to_owned()
            };
            let words = refused(0, 0);
            assert!(words.contains("0 rows came back"), "{words}");
            let mut numbers = words.split(' ').filter_map(|word| word.parse().ok());
            let right: u64 = numbers.next_back().unwrap();
            assert!(refused(right, 0).contains("a value in them is not"), "{}", refused(right, 0));
        }
    }
}
