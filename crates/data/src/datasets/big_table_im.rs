//! **big_table_im**: an empty in-memory table for inserts, each under a random UUID.
//!
//! A row follows from two random numbers and the time, so that one statement with few arguments
//! makes the same row as a load.

use hopcost_core::Kind::{Integer, Text, Timestamp, Uuid};
use hopcost_core::{Column, Dataset, RowSink, Table};

use super::series::Series;
use super::tables::{columns, table};
use super::tran_stats::FIRST_BEGIN_US;

pub struct BigTableIm;

const COLUMNS: &[Column] = columns! {
    id Uuid, at Timestamp, digits Text(17), to_1000 Integer(4), to_10000 Integer(4),
    to_100000 Integer(8)
};

const KEYS: Series = Series::named("big_table_im.id");
const NUMBERS: Series = Series::named("big_table_im.digits");
const LEAST: u64 = 10_000_000_000_000_000;
const US_BETWEEN_ROWS: u64 = 200;
/// Then the times of rows start over.
const ROWS_IN_TIME: u64 = 1 << 40;

/// The source of a row: the number behind its UUID, its time in microseconds, its 17 digits.
pub fn parts(number: u64) -> [i64; 3] {
    let at = FIRST_BEGIN_US + (US_BETWEEN_ROWS * (number % ROWS_IN_TIME)).cast_signed();
    let digits = LEAST + NUMBERS.value(number) % (9 * LEAST);
    [KEYS.value(number).cast_signed(), at, digits.cast_signed()]
}

/// Version 4.
pub fn uuid(of: i64) -> u128 {
    const VERSION_4: u128 = 0x4 << 76;
    const VARIANT_1: u128 = 0x8 << 60;
    const FIXED: u128 = (0xf << 76) | (0xc << 60);
    let high = KEYS.value(of.cast_unsigned());
    let bits = (u128::from(high) << 64) | u128::from(of.cast_unsigned());
    bits & !FIXED | VERSION_4 | VARIANT_1
}

pub fn small(digits: i64) -> [i64; 3] {
    [digits % 1_001, digits / 1_001 % 10_001, digits / 10_011_001 % 100_001]
}

pub(crate) const INSERT: &str = "\
    INSERT INTO big_table_im (id, at, digits, to_1000, to_10000, to_100000) \
    SELECT id, at, CAST(digits AS varchar(17)), digits % 1001, digits / 1001 % 10001, \
    digits / 10011001 % 100001 \
    FROM (SELECT CAST(? AS uuid) AS id, CAST(? AS timestamp) AS at, CAST(? AS bigint) AS digits) AS made";

impl Dataset for BigTableIm {
    fn name(&self) -> &'static str {
        "big_table_im"
    }

    fn about(&self) -> &'static str {
        "an empty table of some 100 bytes a row under a random UUID, in no log, for what is inserted"
    }

    fn tables(&self, _scale: u64) -> Vec<Table> {
        vec![Table { indexes: &[&[0]], ..table("big_table_im", COLUMNS, &[], 0) }]
    }

    fn row(&self, _table: usize, number: u64, sink: &mut dyn RowSink) {
        let [key, at, digits] = parts(number);
        sink.uuid(uuid(key));
        sink.timestamp_us(at);
        sink.text(&digits.to_string());
        for value in small(digits) {
            sink.integer(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_are_within_their_bounds() {
        let mut keys = BTreeSet::new();
        let mut highest = [0; 3];
        for number in 0..20_000 {
            let [key, _, digits] = parts(number);
            assert_eq!(digits.to_string().len(), 17);
            for (high, value) in highest.iter_mut().zip(small(digits)) {
                assert!(value >= 0);
                *high = value.max(*high);
            }
            let text = hopcost_core::hyphenated(uuid(key));
            assert!(text.len() == 36 && &text[14..15] == "4" && "89ab".contains(&text[19..20]));
            keys.insert(text);
        }
        assert_eq!(keys.len(), 20_000);
        let close = |at: usize, most: i64| highest[at] <= most && highest[at] > most - most / 50;
        assert!(close(0, 1_000) && close(1, 10_000) && close(2, 100_000), "{highest:?}");
    }
}
