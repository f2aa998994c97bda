//! **reporting P1**: how often does each combination of the six dimensions occur?
//!
//! tran_stats is joined with dimension on all six values and grouped by the six ids. The published
//! query returned the number of groups, always 600; this one returns the groups with counts, and
//! their digest must be right. A slice is 2,500 rows, about 8 ms of one CPU, so that a window of
//! 0.1 s holds several calls. The join is written CROSS JOIN and WHERE, which only SQLite takes as
//! a fixed order; left to itself, it reads all 1,440,000 combinations for each slice. Scratch
//! memory is the sorter's: 47 bytes per grouped row.

use hopcost_core::{
    Answer, Effect, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload,
    WorkloadInfo, WorkloadSpec,
};

use super::answers::compare;
use super::requests::{dice, of_first};
use super::slices::{Slices, rows_between};
use crate::datasets::tran_stats::{COMBINATIONS, begin_us, ids};

pub struct ReportingP1;

const SLICE_ROWS: u64 = 2500;
const SORTED_BYTES_PER_ROW: u64 = 47;

macro_rules! groups {
    ($range:literal) => {
        concat!(
            "SELECT d.server_config_id, d.thread_name_id, d.tran_type_id, d.tran_status_id, \
             d.users_id, d.cpus_id, count(*) \
             FROM tran_stats AS t CROSS JOIN dimension AS d \
             WHERE d.server_config = t.server_config AND d.thread_name = t.thread_name \
             AND d.tran_type = t.tran_type AND d.tran_status = t.tran_status \
             AND d.users = t.users AND d.cpus = t.cpus ",
            $range,
            "GROUP BY d.server_config_id, d.thread_name_id, d.tran_type_id, d.tran_status_id, \
             d.users_id, d.cpus_id"
        )
    };
}

const WHOLE: Statement = Statement::of("reporting_p1", groups!(""), 0);

const SLICED: Statement = Statement {
    sql: groups!("AND t.tran_begin >= ? AND t.tran_begin < ? "),
    arguments: 2,
    ..WHOLE
};

/// For row 0, 1, … of tran_stats: the digest of its six ids; only the count is missing.
const GROUPS: [Row; COMBINATIONS as usize] = {
    let mut groups = [Row::new(); COMBINATIONS as usize];
    let mut number = 0;
    while number < groups.len() {
        let ids = ids(number as u64);
        let mut at = 0;
        while at < ids.len() {
            groups[number] = groups[number].integer(ids[at]);
            at += 1;
        }
        number += 1;
    }
    groups
};

impl Workload for ReportingP1 {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "reporting_p1",
            about: "counts the transactions of each combination of six dimensions, by a join and a grouping",
            tables: &["tran_stats", "dimension"],
        }
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        let calls_per_query = Slices::new(shape, SLICE_ROWS).count;
        WorkloadSpec {
            statements: vec![if shape.sliced { SLICED } else { WHOLE }],
            calls_per_query,
            scratch_bytes: SORTED_BYTES_PER_ROW * shape.rows / calls_per_query,
            effect: Effect::Reads,
        }
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        let mut walk = Slices::new(shape, SLICE_ROWS).walk(stream, &mut dice(stream));
        of_first(move || {
            let rows = walk.step();
            [begin_us(rows.start), begin_us(rows.end), 0, 0]
        })
    }

    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let [from_us, to_us, ..] = request.arguments;
        let rows =
            if shape.sliced { rows_between(from_us, to_us, shape.rows) } else { 0..shape.rows };
        let question = format!("reporting_p1 over rows {} to {}", rows.start + 1, rows.end);
        compare(&question, answer, &right_answer(rows.start, rows.end - rows.start))
    }
}

/// Combinations come one after the other, and repeat every 600 rows.
fn right_answer(first: u64, rows: u64) -> Answer {
    let mut answer = Answer::default();
    for nth in 0..rows.min(COMBINATIONS) {
        let count = (rows - nth).div_ceil(COMBINATIONS);
        let group = GROUPS[((first + nth) % COMBINATIONS) as usize];
        answer.add(group.integer(count.cast_signed()));
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::workloads::on_sqlite::{Database, dimension, transaction};

    fn slice(from: u64, to: u64) -> Request {
        Request { statement: 0, arguments: [begin_us(from), begin_us(to), 0, 0] }
    }

    fn by_hand(first: u64, end: u64) -> Answer {
        let ids: BTreeMap<Vec<String>, Vec<String>> =
            dimension().map(|row| (row[6..].to_vec(), row[..6].to_vec())).collect();
        let mut counts: BTreeMap<&[String], i64> = BTreeMap::new();
        for number in first..end {
            let row = transaction(number);
            let values = [0, 3, 5, 6, 1, 2].map(|column| row[column].clone());
            *counts.entry(&ids[values.as_slice()]).or_default() += 1;
        }
        let mut answer = Answer::default();
        for (ids, count) in counts {
            let ids = ids.iter().map(|id| id.parse().unwrap());
            answer.add(ids.fold(Row::new(), Row::integer).integer(count));
        }
        answer
    }

    #[test]
    fn the_right_answer_is_what_counting_row_by_row_gives() {
        for (first, end) in [(0, 2500), (2500, 5000), (590, 610), (7, 7), (1100, 2950), (0, 9999)] {
            assert_eq!(right_answer(first, end - first), by_hand(first, end), "{first}..{end}");
        }
        assert_eq!(right_answer(0, 2500).rows, 600);
    }

    #[test]
    fn a_database_says_the_same() {
        let rows = 8000;
        let database = Database::with(rows);
        for sliced in [true, false] {
            let shape = Shape { rows, sliced };
            let stream = Stream { number: 0, of: 1, seed: 3 };
            let mut requests = ReportingP1.requests(shape, stream);
            for _ in 0..4 {
                let request = requests.next();
                database.assert_right(&ReportingP1, shape, &request);
            }
        }
        let shape = Shape { rows, sliced: true };
        for request in [slice(590, 610), slice(7990, 9000)] {
            database.assert_right(&ReportingP1, shape, &request);
        }
    }

    #[test]
    fn the_join_looks_each_transaction_up_in_the_index_of_the_values() {
        let database = Database::with(1000);
        for shape in [false, true].map(|sliced| Shape { rows: 1000, sliced }) {
            let plan = database.plan(&ReportingP1, shape);
            let outer = if shape.sliced { "SEARCH t USING PRIMARY KEY" } else { "SCAN t" };
            assert!(plan[0].starts_with(outer), "{plan:?}");
            let lookup = "SEARCH d USING COVERING INDEX";
            assert!(plan[1].starts_with(lookup) && plan[1].contains("cpus=?"), "{plan:?}");
        }
    }

    #[test]
    fn an_answer_for_other_rows_is_refused_in_words() {
        let shape = Shape { rows: 10_000, sliced: true };
        let refusal = |answer| {
            let refusal = ReportingP1.check(shape, &slice(2500, 5000), &answer).unwrap_err();
            refusal.as_str().to_owned()
        };
        let shifted = refusal(right_answer(0, 2500));
        assert!(
            shifted.starts_with("reporting_p1 over rows 2501 to 5000: the number"),
            "{shifted}"
        );
        assert!(refusal(right_answer(0, 599)).contains("599 rows came back, and 600 are right"));
    }

    #[test]
    fn a_query_is_as_many_calls_as_there_are_slices() {
        let shape = |sliced| Shape { rows: 7_500_000, sliced };
        assert_eq!(ReportingP1.spec(shape(true)).calls_per_query, 3000);
        assert_eq!(ReportingP1.spec(shape(false)).calls_per_query, 1);
        assert_eq!(ReportingP1.spec(shape(true)).scratch_bytes, 2500 * 47);
        assert_eq!(ReportingP1.spec(shape(false)).scratch_bytes, 7_500_000 * 47);
    }
}
