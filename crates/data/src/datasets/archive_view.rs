//! **archive_view**: ten yearly tables of business transactions, the parts of a huge view.
//!
//! A current table and nine archives, 2016 to 2024; each row has an account, each account a branch.
//! A table is clustered by number and has an index on the date. The scale is rows per table. Dates
//! are multiples of the golden ratio, cut to fractions of a year: they fill a year evenly at any
//! scale, and a number does not predict its date. All years have the same dates, shifted. Queries
//! write the view out, because not every target may create one.

use hopcost_core::Kind::{Integer, Padded, Text, Timestamp};
use hopcost_core::{Column, Dataset, RowSink, Table};

use super::series::Series;
use super::tables::{columns, table};

pub struct ArchiveView;

const BRANCH: &[Column] = columns! { branch_id Integer(4), branch_name Text(20), city Text(20) };

const ACCOUNT: &[Column] = columns! {
    account_id Integer(4), branch_id Integer(4), holder Text(20)
};

const TRANSACTION: &[Column] = columns! {
    txn_id Integer(8), account_id Integer(4), stamped_at Timestamp, amount Integer(8),
    kind Text(10), note Padded(40)
};

const TRANSACTIONS: [&str; 10] = [
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

const BRANCHES: u64 = 100;
const ACCOUNTS: u64 = 10_000;
const FIRST_YEAR: u64 = 2016;
const KINDS: [&str; 4] = ["CARD", "TRANSFER", "CASH", "FEE"];
/// More rows than a table can have, so that transaction numbers differ between tables.
const NUMBERS_OF_A_TABLE: u64 = 10_000_000_000;

pub(crate) const US_PER_DAY: i64 = 86_400_000_000;

const OF_ACCOUNT: Series = Series::named("archive_view account");
const AMOUNT: Series = Series::named("archive_view amount");

impl Dataset for ArchiveView {
    fn name(&self) -> &'static str {
        "archive_view"
    }

    fn about(&self) -> &'static str {
        "ten tables of dated transactions by year, with accounts and branches: the parts of a view"
    }

    fn unit(&self, _: u64) -> &'static str {
        "rows in each of ten tables"
    }

    fn tables(&self, scale: u64) -> Vec<Table> {
        let fixed =
            [table("branch", BRANCH, &[0], BRANCHES), table("account", ACCOUNT, &[0], ACCOUNTS)];
        let dated = |name| Table { indexes: &[&[2]], ..table(name, TRANSACTION, &[0], scale) };
        fixed.into_iter().chain(TRANSACTIONS.map(dated)).collect()
    }

    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink) {
        match table {
            0 => branch(number + 1, sink),
            1 => account(number + 1, sink),
            _ => transaction(table as u64 - 2, number, sink),
        }
    }
}

fn branch(id: u64, sink: &mut dyn RowSink) {
    sink.integer(id.cast_signed());
    sink.text(&format!("Branch {id}"));
    sink.text(&format!("City {}", id % 10));
}

fn account(id: u64, sink: &mut dyn RowSink) {
    sink.integer(id.cast_signed());
    sink.integer((id % BRANCHES).cast_signed() + 1);
    sink.text(&format!("Holder {id}"));
}

fn transaction(table: u64, number: u64, sink: &mut dyn RowSink) {
    let id = table * NUMBERS_OF_A_TABLE + number + 1;
    sink.integer(id.cast_signed());
    sink.integer(OF_ACCOUNT.dice(id).i64(1..=ACCOUNTS.cast_signed()));
    sink.timestamp_us(stamped_us(FIRST_YEAR + table, number));
    sink.integer(AMOUNT.dice(id).i64(1..=1_000_000));
    sink.text(KINDS[(id % 4) as usize]);
    sink.text("as agreed");
}

fn stamped_us(year: u64, number: u64) -> i64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let (from, to) = (begin_us(year), begin_us(year + 1));
    let length = u128::from((to - from).cast_unsigned());
    let fraction = u128::from((number + 1).wrapping_mul(GOLDEN));
    from + ((fraction * length) >> u64::BITS) as i64
}

/// For years from 1970 to 2100, in which every fourth is a leap year.
const fn begin_us(year: u64) -> i64 {
    let days = (year - 1970) * 365 + (year - 1969) / 4;
    days.cast_signed() * US_PER_DAY
}

/// The newest date if each table has this many rows.
///
/// Among multiples of the golden ratio, those closest to the end of the year so far are at
/// Fibonacci numbers.
pub(crate) fn newest_us(rows: u64) -> i64 {
    let year = FIRST_YEAR + TRANSACTIONS.len() as u64 - 1;
    let (mut newest, mut nth, mut next) = (begin_us(year), 1, 2);
    while nth <= rows {
        newest = newest.max(stamped_us(year, nth - 1));
        (nth, next) = (next, nth + next);
    }
    newest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rusqlite::types::Value;

    use super::*;
    use crate::written::{number_of, values};

    fn rows(table: usize, numbers: std::ops::Range<u64>) -> Vec<Vec<Value>> {
        numbers.map(|number| values(&ArchiveView, table, number)).collect()
    }

    fn column_of(table: usize, column: usize, numbers: std::ops::Range<u64>) -> Vec<i64> {
        rows(table, numbers).iter().map(|row| number_of(&row[column])).collect()
    }

    #[test]
    fn every_row_has_every_column_and_all_ten_tables_the_same() {
        let tables = ArchiveView.tables(1000);
        assert_eq!(tables.len(), 12);
        for (at, table) in tables.iter().enumerate() {
            let is_whole = |row: &Vec<Value>| row.len() == table.columns.len();
            assert!(rows(at, 0..7).iter().all(is_whole), "{}", table.name);
        }
        assert!(tables[2..].iter().all(|table| table.rows == 1000));
        assert!(tables[2..].iter().all(|table| table.columns == TRANSACTION));
    }

    #[test]
    fn years_begin_when_they_do() {
        assert_eq!(begin_us(1970), 0);
        // 2016-01-01, 2017-01-01 after a leap year, and 2026-01-01.
        let seconds = [2016, 2017, 2026].map(|year| begin_us(year) / 1_000_000);
        assert_eq!(seconds, [1_451_606_400, 1_483_228_800, 1_767_225_600]);
    }

    #[test]
    fn dates_fill_their_year_at_every_scale() {
        for (table, year) in (2..12).zip(2016..) {
            for rows in [100, 1000] {
                let mut dates = column_of(table, 2, 0..rows);
                dates.sort_unstable();
                let [first, last] = [dates[0], dates[rows as usize - 1]];
                assert!(begin_us(year) <= first && last < begin_us(year + 1), "{year}");
                let mut gaps = dates.windows(2).map(|pair| pair[1] - pair[0]);
                let even = (begin_us(year + 1) - begin_us(year)) / rows.cast_signed();
                assert!(gaps.all(|gap| gap > even / 3 && gap < even * 3), "{year}, {rows} rows");
            }
        }
    }

    #[test]
    fn the_newest_date_is_known_at_every_scale() {
        let mut newest = 0;
        for number in 0..300_000 {
            newest = newest.max(stamped_us(2025, number));
            assert_eq!(newest_us(number + 1), newest, "{number}");
        }
        let all = (0..3_000_000).map(|number| stamped_us(2025, number)).max();
        assert_eq!(all, Some(newest_us(3_000_000)));
        let dates = (2..12).flat_map(|table| column_of(table, 2, 0..500));
        assert_eq!(dates.max(), Some(newest_us(500)));
    }

    #[test]
    fn every_transaction_has_an_account_and_every_account_a_branch() {
        let branches: BTreeSet<i64> = column_of(1, 1, 0..ACCOUNTS).into_iter().collect();
        assert!(branches.into_iter().eq(1..=100));
        let named: BTreeSet<i64> = column_of(5, 1, 0..50_000).into_iter().collect();
        assert_eq!((named.first(), named.last()), (Some(&1), Some(&10_000)));
    }
}
