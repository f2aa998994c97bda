//! **reporting P2**: which transactions of one second returned at most their server's average?
//!
//! T is a random begin time. tran_stats is joined with its average resultset_size per
//! server_config. Rows at or below the average that begin in T to T + 1 s inclusive are grouped by
//! the six values and counted, and the counts are summed. The query is compiled for each call, as
//! published.
//!
//! One row in five is exactly at the average, and databases round averages differently, so the
//! comparison is in integers: size × number ≤ sum. Both sides fit 32 bits, as SQL Server needs, up
//! to 800 million rows. CROSS JOIN fixes the order for SQLite, some versions of which would read
//! the second once per average.
//!
//! Sliced, the average is over 25,000 rows, about 13 ms. Scratch memory is the sorter's, 32 bytes
//! per averaged row. `reporting_p2_whole` is never sliced, for plans that start slowly, e.g.
//! parallel workers.

use std::ops::Range;

use hopcost_core::{
    Answer, Effect, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload,
    WorkloadInfo, WorkloadSpec,
};

use super::answers::compare;
use super::requests::{dice, of_first};
use super::slices::{Slices, rows_between};
use crate::datasets::tran_stats::{CONFIGS, US_PER_SECOND, begin_us, resultset_size};

pub struct ReportingP2;

const SLICE_ROWS: u64 = 25_000;
const SORTED_BYTES_PER_ROW: u64 = 32;
const SECOND_BYTES: u64 = 1 << 20;

macro_rules! at_or_below_average {
    ($range:literal) => {
        concat!(
            "SELECT coalesce(sum(g.n), 0) FROM (\
             SELECT count(*) AS n FROM tran_stats AS t CROSS JOIN (\
             SELECT server_config, sum(resultset_size) AS total, count(*) AS n FROM tran_stats ",
            $range,
            "GROUP BY server_config) AS a WHERE a.server_config = t.server_config \
             AND t.tran_begin >= ? AND t.tran_begin <= ? AND t.resultset_size * a.n <= a.total \
             GROUP BY t.server_config, t.thread_name, t.tran_type, t.tran_status, t.users, t.cpus\
             ) AS g"
        )
    };
}

const WHOLE: Statement =
    Statement { recompile: true, ..Statement::of("reporting_p2", at_or_below_average!(""), 2) };

const SLICED: Statement = Statement {
    sql: at_or_below_average!("WHERE tran_begin >= ? AND tran_begin < ? "),
    arguments: 4,
    ..WHOLE
};

impl Workload for ReportingP2 {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "reporting_p2",
            about: "counts the transactions of a random second at or below their server's average result",
            tables: &["tran_stats"],
        }
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        let calls_per_query = Slices::new(shape, SLICE_ROWS).count;
        WorkloadSpec {
            statements: vec![if shape.sliced { SLICED } else { WHOLE }],
            calls_per_query,
            scratch_bytes: SECOND_BYTES + SORTED_BYTES_PER_ROW * shape.rows / calls_per_query,
            effect: Effect::Reads,
        }
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        let mut rng = dice(stream);
        let mut walk = Slices::new(shape, SLICE_ROWS).walk(stream, &mut rng);
        of_first(move || {
            let rows = walk.step();
            let moment = begin_us(rng.u64(rows.clone()));
            let second = [moment, moment + US_PER_SECOND];
            if shape.sliced {
                [begin_us(rows.start), begin_us(rows.end), second[0], second[1]]
            } else {
                [second[0], second[1], 0, 0]
            }
        })
    }

    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let [a, b, c, d] = request.arguments;
        let (averaged, from_us, to_us) = if shape.sliced {
            (rows_between(a, b, shape.rows), c, d)
        } else {
            (0..shape.rows, a, b)
        };
        let second = rows_between(from_us, to_us.saturating_add(1), shape.rows);
        let question = format!(
            "reporting_p2 of rows {} to {}, averages over rows {} to {}",
            second.start + 1,
            second.end,
            averaged.start + 1,
            averaged.end
        );
        let right = Row::new().integer(right_count(&averaged, &second).cast_signed());
        compare(&question, answer, &Answer::of(right))
    }
}

pub struct Whole;

const fn whole(shape: Shape) -> Shape {
    Shape { sliced: false, ..shape }
}

impl Workload for Whole {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "reporting_p2_whole",
            about: "reporting_p2 over all rows in one call, at any effort",
            tables: &["tran_stats"],
        }
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        ReportingP2.spec(whole(shape))
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        ReportingP2.requests(whole(shape), stream)
    }

    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        ReportingP2.check(whole(shape), request, answer)
    }
}

/// Sizes and configurations repeat together: the least common multiple of 40 and 100.
const PERIOD: u64 = 200;

/// Rows of `second` at or below the average of their configuration in `averaged`.
fn right_count(averaged: &Range<u64>, second: &Range<u64>) -> u64 {
    let mut sums = [(0, 0); CONFIGS as usize];
    for (row, times) in occurrences(averaged) {
        let (number, total) = &mut sums[(row % CONFIGS) as usize];
        *number += times;
        *total += times * resultset_size(row);
    }
    let counts = |row: u64| {
        let (number, total) = sums[(row % CONFIGS) as usize];
        number > 0 && resultset_size(row) * number <= total
    };
    occurrences(second).filter(|(row, _)| counts(*row)).map(|(_, times)| times).sum()
}

fn occurrences(rows: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let (first, end) = (rows.start, rows.end);
    (first..end.min(first + PERIOD)).map(move |row| (row, (end - row).div_ceil(PERIOD)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::workloads::on_sqlite::{Database, transaction};

    const SECOND_ROWS: u64 = 5001;

    fn by_hand(averaged: Range<u64>, second: Range<u64>) -> u64 {
        let config_and_size = |number| {
            let row = transaction(number);
            (row[0].clone(), row[9].parse::<u64>().unwrap())
        };
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (config, size) in averaged.map(config_and_size) {
            let (number, total) = sums.entry(config).or_default();
            (*number, *total) = (*number + 1, *total + size);
        }
        let small = |(config, size): &(String, u64)| {
            sums.get(config).is_some_and(|(number, total)| size * number <= *total)
        };
        second.map(config_and_size).filter(small).count() as u64
    }

    #[test]
    fn the_right_count_is_what_counting_row_by_row_gives() {
        for (averaged, second) in [
            (0..25_000, 0..SECOND_ROWS),
            (0..25_000, 24_999..30_000),
            (1000..1137, 1100..1101),
            (1000..1137, 900..2222),
            (0..7, 0..100),
            (5..5, 0..100),
        ] {
            let right = right_count(&averaged, &second);
            assert_eq!(right, by_hand(averaged.clone(), second.clone()), "{averaged:?} {second:?}");
        }
    }

    #[test]
    fn a_row_in_five_stands_exactly_at_the_average_and_counts() {
        assert_eq!(right_count(&(0..25_000), &(0..200)), 200 * 3 / 5);
    }

    #[test]
    fn a_database_says_the_same() {
        let rows = 60_000;
        let database = Database::with(rows);
        for sliced in [true, false] {
            let shape = Shape { rows, sliced };
            let mut requests = ReportingP2.requests(shape, Stream { number: 0, of: 1, seed: 5 });
            for _ in 0..6 {
                let request = requests.next();
                database.assert_right(&ReportingP2, shape, &request);
            }
        }
        // A second that ends with the table, and has no matching row.
        let shape = Shape { rows, sliced: false };
        let last = begin_us(rows - 41);
        assert_eq!(resultset_size(rows - 41), 60);
        for to_us in [last, last + US_PER_SECOND] {
            let request = Request { statement: 0, arguments: [last, to_us, 0, 0] };
            database.assert_right(&ReportingP2, shape, &request);
        }
    }

    #[test]
    fn the_second_is_found_by_the_clustered_key_once() {
        let database = Database::with(1000);
        for shape in [false, true].map(|sliced| Shape { rows: 1000, sliced }) {
            let plan = database.plan(&ReportingP2, shape);
            let at = |words: &str| plan.iter().position(|step| step.starts_with(words));
            let second = at("SEARCH t USING PRIMARY KEY");
            assert!(second.is_some() && second < at("SEARCH a"), "{plan:#?}");
        }
    }

    #[test]
    fn moments_lie_on_the_grid_within_their_slice() {
        let shape = Shape { rows: 100_000, sliced: true };
        let mut requests = ReportingP2.requests(shape, Stream { number: 0, of: 1, seed: 9 });
        let mut offsets = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let [from, to, begin, end] = requests.next().arguments;
            assert!(from <= begin && begin < to);
            assert_eq!((end - begin, (begin - begin_us(0)) % 200), (US_PER_SECOND, 0));
            offsets.insert(begin - from);
        }
        assert!(offsets.len() > 90, "they are hardly random");
    }
}
