//! **tran_stats**: a log of transactions, and the cross product of its dimensions.
//!
//! The published experiments had 50 and 200 million rows. Every value follows from the row's
//! number. Begin times were the load time there; here they start at a fixed instant, 5,000 rows a
//! second, so that two loads are equal.

use std::sync::OnceLock;

use hopcost_core::Kind::{Integer, Padded, Text, Timestamp};
use hopcost_core::{Column, Dataset, RowSink, Table};

use super::letters::Letters;
use super::tables::{columns, table};

pub struct TranStats;

const TRAN_STATS: &[Column] = columns! {
    server_config Text(100), users Integer(4), cpus Integer(2), thread_name Text(20),
    tran_count Integer(4), tran_type Text(20), tran_status Text(20), tran_begin Timestamp,
    tran_end Timestamp, resultset_size Integer(2), filler Padded(100)
};

const DIMENSION: &[Column] = columns! {
    server_config_id Integer(2), thread_name_id Integer(2), tran_type_id Integer(2),
    tran_status_id Integer(2), users_id Integer(2), cpus_id Integer(2), server_config Text(100),
    thread_name Text(20), tran_type Text(20), tran_status Text(20), users Integer(4),
    cpus Integer(2)
};

/// 2011-06-01 00:00:00 UTC.
pub(crate) const FIRST_BEGIN_US: i64 = 1_306_886_400_000_000;
pub(crate) const US_BETWEEN_ROWS: i64 = 200;
pub(crate) const US_PER_SECOND: i64 = 1_000_000;

/// Combinations of the six dimensions that occur, in turn: the least common multiple of 40, 100, 3,
/// 5 and 8.
pub(crate) const COMBINATIONS: u64 = 600;
pub(crate) const CONFIGS: u64 = 40;
const THREADS: u64 = 100;
const TYPES: [&str; 3] = ["READ-ONLY", "WRITE-ONLY", "READ-WRITE"];
const STATES: [&str; 3] = ["SUCCESS", "FAILURE", "ROLLBACK"];
const USER_COUNTS: u64 = 5;
const CPU_COUNTS: u64 = 8;
const DIMENSION_ROWS: u64 = CONFIGS * THREADS * 9 * USER_COUNTS * CPU_COUNTS;

/// With fewer transactions the whole cross product would be most of the data, so only a part
/// exists.
const WHOLE_FROM: u64 = 1_000_000;
const PART: usize = 2;

impl Dataset for TranStats {
    fn name(&self) -> &'static str {
        "tran_stats"
    }

    fn about(&self) -> &'static str {
        "a log of transactions, about 180 bytes a row, and the cross product of its six dimensions (below a million rows \
         a part of it)"
    }

    fn tables(&self, scale: u64) -> Vec<Table> {
        let dimension_rows = if scale < WHOLE_FROM { 2 * COMBINATIONS } else { DIMENSION_ROWS };
        vec![
            table("tran_stats", TRAN_STATS, &[7], scale),
            Table {
                // A covering index for the join: the six values, then their ids.
                indexes: &[&[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]],
                ..table("dimension", DIMENSION, &[0, 1, 2, 3, 4, 5], dimension_rows)
            },
        ]
    }

    fn source(&self, table: usize, scale: u64) -> usize {
        if table == 1 && scale < WHOLE_FROM { PART } else { table }
    }

    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink) {
        match table {
            0 => transaction(number + 1, sink),
            PART => combination(part()[number as usize], sink),
            _ => combination(number, sink),
        }
    }
}

pub(crate) const fn begin_us(number: u64) -> i64 {
    FIRST_BEGIN_US + number.cast_signed() * US_BETWEEN_ROWS
}

pub(crate) const fn resultset_size(number: u64) -> u64 {
    (number + 1) % 100
}

/// The ids in `dimension` for row `number`, counted from 0: remainder r has id r, and remainder 0
/// the last id.
pub(crate) const fn ids(number: u64) -> [i64; 6] {
    const fn id(number: u64, values: u64) -> i64 {
        (number % values).cast_signed() + 1
    }
    [
        id(number, CONFIGS),
        id(number, THREADS),
        id(number, 3),
        id(number, 3),
        id(number, USER_COUNTS),
        id(number, CPU_COUNTS),
    ]
}

/// Row `i`, counted from 1 as in the published loader.
fn transaction(i: u64, sink: &mut dyn RowSink) {
    let begin = begin_us(i - 1);
    sink.text(config(i % CONFIGS).as_str());
    sink.integer(count(i % USER_COUNTS));
    sink.integer(count(i % CPU_COUNTS));
    sink.text(thread(i % THREADS).as_str());
    sink.integer(i.cast_signed());
    sink.text(TYPES[(i % 3) as usize]);
    sink.text(STATES[(i % 3) as usize]);
    sink.timestamp_us(begin);
    sink.timestamp_us(begin + (i % 50).cast_signed() * US_PER_SECOND);
    sink.integer(resultset_size(i - 1).cast_signed());
    sink.text("abc");
}

pub(crate) fn occurring() -> impl Iterator<Item = u64> {
    (0..COMBINATIONS).map(|transaction| numbered(ids(transaction)))
}

/// For small scales, in key order: the combinations that occur, and as many that do not.
fn part() -> &'static [u64] {
    static PART: OnceLock<Vec<u64>> = OnceLock::new();
    PART.get_or_init(|| {
        let foreign = |transaction| {
            let [server, thread, kind, state, users, cpus] = ids(transaction);
            numbered([server, thread, kind, state % 3 + 1, users, cpus])
        };
        let mut part: Vec<u64> = occurring().chain((0..COMBINATIONS).map(foreign)).collect();
        part.sort_unstable();
        part
    })
}

/// The row of a combination: its ids, counted from 1, are the digits of the number.
fn numbered(ids: [i64; 6]) -> u64 {
    let digits = ids.into_iter().zip([CONFIGS, THREADS, 3, 3, USER_COUNTS, CPU_COUNTS]);
    digits.fold(0, |number, (id, base)| number * base + id.cast_unsigned() - 1)
}

/// Its ids are the digits of its number. They count, from 1, the values in order of first
/// occurrence.
fn combination(number: u64, sink: &mut dyn RowSink) {
    let mut rest = number;
    let mut digit = |base: u64| {
        let digit = rest % base;
        rest /= base;
        digit
    };
    let [cpu, user, state, kind] = [CPU_COUNTS, USER_COUNTS, 3, 3].map(&mut digit);
    let [thread_name, server] = [THREADS, CONFIGS].map(&mut digit);
    let ids = [server, thread_name, kind, state, user, cpu];
    for id in ids {
        sink.integer(id.cast_signed() + 1);
    }
    // Row 1 has the values of remainder 1; those of remainder 0 come last.
    let [server, thread_name, kind, state, user, cpu] = ids.map(|id| id + 1);
    sink.text(config(server % CONFIGS).as_str());
    sink.text(thread(thread_name % THREADS).as_str());
    sink.text(TYPES[(kind % 3) as usize]);
    sink.text(STATES[(state % 3) as usize]);
    sink.integer(count(user % USER_COUNTS));
    sink.integer(count(cpu % CPU_COUNTS));
}

fn count(remainder: u64) -> i64 {
    (remainder.cast_signed() + 1) * 10
}

fn config(remainder: u64) -> Letters<8> {
    Letters::none().and("X580 G").and_digits(remainder, 2)
}

fn thread(remainder: u64) -> Letters<4> {
    let digits = if remainder < 10 { 1 } else { 2 };
    Letters::none().and("VC").and_digits(remainder, digits)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::written::texts;

    fn row(table: usize, number: u64) -> Vec<String> {
        texts(&TranStats, table, number)
    }

    const DIMENSIONS: [(usize, usize); 6] = [(0, 6), (3, 7), (5, 8), (6, 9), (1, 10), (2, 11)];

    #[test]
    fn rows_follow_the_published_rules() {
        let first = "X580 G01|20|20|VC1|1|WRITE-ONLY|FAILURE|1306886400000000|1306886401000000|\
                     1|abc";
        assert_eq!(row(0, 0).join("|"), first);
        let late = "X580 G00|10|10|VC0|10000|WRITE-ONLY|FAILURE|1306886401999800|\
                    1306886401999800|0|abc";
        assert_eq!(row(0, 9999).join("|"), late);
        assert_eq!(row(0, 41)[..4].join("|"), "X580 G02|30|30|VC42");
    }

    #[test]
    fn every_row_has_every_column() {
        for (n, table) in TranStats.tables(100).iter().enumerate() {
            for number in [0, table.rows / 2, table.rows - 1] {
                let n = TranStats.source(n, 100);
                assert_eq!(row(n, number).len(), table.columns.len(), "{} {number}", table.name);
            }
        }
    }

    #[test]
    fn six_hundred_combinations_occur_and_each_is_in_the_dimension_once() {
        let occurring: BTreeSet<Vec<String>> = (0..6000)
            .map(|n| row(0, n))
            .map(|row| DIMENSIONS.iter().map(|(at, _)| row[*at].clone()).collect())
            .collect();
        assert_eq!(occurring.len(), 600);
        let values = |number| {
            let row = row(1, number);
            DIMENSIONS.iter().map(|(_, at)| row[*at].clone()).collect::<Vec<_>>()
        };
        let met: BTreeSet<Vec<String>> = super::occurring().map(values).collect();
        assert_eq!(met, occurring);
        // Every id is a digit of the row's number, so that no two rows have the same combination.
        let ids: BTreeSet<Vec<String>> =
            (0..DIMENSION_ROWS).step_by(997).map(|number| row(1, number)[..6].to_vec()).collect();
        assert_eq!(ids.len() as u64, DIMENSION_ROWS.div_ceil(997));
    }

    #[test]
    fn a_small_part_of_the_cross_product_has_what_occurs_and_as_much_that_does_not() {
        let rows = |scale| TranStats.tables(scale)[1].rows;
        assert_eq!((rows(999_999), rows(1_000_000)), (1200, DIMENSION_ROWS));
        assert_eq!((TranStats.source(1, 999_999), TranStats.source(1, 1_000_000)), (PART, 1));
        assert!(part().is_sorted_by(|a, b| a < b), "the order of the key, and none twice");
        let numbers: BTreeSet<u64> = occurring().collect();
        assert_eq!(part().iter().filter(|number| numbers.contains(number)).count(), 600);
        assert_eq!((part().len(), row(PART, 7)), (1200, row(1, part()[7])));
    }

    #[test]
    fn the_cross_product_is_as_large_as_published() {
        assert_eq!(DIMENSION_ROWS, 1_440_000);
        assert_eq!(row(1, 0)[..6].join(" "), "1 1 1 1 1 1");
        assert_eq!(row(1, DIMENSION_ROWS - 1)[..6].join(" "), "40 100 3 3 5 8");
    }
}
