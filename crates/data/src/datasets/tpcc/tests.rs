//! Tests of tpcc against the specification: row counts, value rules, consistency conditions.

use std::collections::BTreeSet;

use hopcost_core::{Dataset, Kind};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::rules::{
    CUSTOMERS, DISTRICTS, District, ITEMS, LOADED_US, NAMES, ORDERS, UNDELIVERED, entry_us,
    last_name, line_at, lines_a_warehouse,
};
use super::tables::Tpcc;
use crate::written::{number_of, values};

fn row(table: usize, number: u64) -> Vec<Value> {
    values(&Tpcc, table, number)
}

fn places(table: &str, columns: &[&str]) -> (usize, Vec<usize>) {
    let tables = Tpcc.tables(1);
    let at = tables.iter().position(|other| other.name == table).unwrap();
    let place = |name: &&str| tables[at].columns.iter().position(|c| c.name == *name).unwrap();
    (at, columns.iter().map(place).collect())
}

fn column_of(table: &str, column: &str, rows: std::ops::Range<u64>) -> Vec<Value> {
    let (table, columns) = places(table, &[column]);
    rows.map(|number| row(table, number).swap_remove(columns[0])).collect()
}

fn texts(values: Vec<Value>) -> impl Iterator<Item = String> {
    values.into_iter().map(|value| match value {
        Value::Text(text) => text,
        other => panic!("{other:?}"),
    })
}

fn numbers(values: Vec<Value>) -> impl Iterator<Item = i64> {
    values.into_iter().map(|value| number_of(&value))
}

#[test]
fn every_table_has_the_rows_of_the_specification() {
    let rows: Vec<u64> = Tpcc.tables(3).iter().map(|table| table.rows).collect();
    let lines = 3 * lines_a_warehouse();
    assert_eq!(rows, [3, 30, 90_000, 90_000, 27_000, 90_000, lines, 100_000, 300_000]);
    assert!(lines_a_warehouse().abs_diff(300_000) < 3000, "{}", lines_a_warehouse());
}

#[test]
fn every_value_fits_its_column() {
    for (at, table) in Tpcc.tables(2).iter().enumerate() {
        for number in (0..200).map(|n| n * (table.rows - 1) / 199) {
            let row = row(at, number);
            assert_eq!(row.len(), table.columns.len(), "{} {number}", table.name);
            for (n, (value, column)) in row.iter().zip(table.columns).enumerate() {
                let fits = match (value, column.kind) {
                    (Value::Integer(value), Kind::Integer(bytes)) => {
                        value.unsigned_abs() < 1 << (8 * bytes - 1)
                    }
                    (Value::Integer(us), Kind::Timestamp) => {
                        (LOADED_US..=entry_us(ORDERS)).contains(us)
                    }
                    (Value::Text(text), Kind::Text(most)) => {
                        (2..=usize::from(most)).contains(&text.len())
                    }
                    (Value::Null, _) => !table.key.contains(&n),
                    _ => false,
                };
                assert!(fits, "{} {number}: {} {value:?}", table.name, column.name);
            }
        }
    }
}

#[test]
fn rows_come_in_the_order_of_their_key() {
    for (at, table) in Tpcc.tables(2).iter().enumerate().filter(|(_, table)| !table.key.is_empty())
    {
        let key = |number| {
            let row = row(at, number);
            numbers(table.key.iter().map(|at| row[*at].clone()).collect()).collect::<Vec<i64>>()
        };
        let step = (table.rows / 5000).max(1);
        for number in (0..table.rows - 1).step_by(step as usize) {
            assert!(key(number) < key(number + 1), "{} {number}", table.name);
        }
    }
}

#[test]
fn last_names_are_made_of_syllables_and_the_first_thousand_have_each() {
    assert_eq!(last_name(0).as_str(), "BARBARBAR");
    assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
    assert_eq!(last_name(999).as_str(), "EINGEINGEING");
    let names: Vec<String> = texts(column_of("customer", "c_last", 0..3000)).collect();
    let expected = (0..NAMES).map(|number| last_name(number).as_str().to_owned());
    assert!(names[..1000].iter().cloned().eq(expected));
    // NURand of 255 is uneven: a dozen customers share some names, many names have one customer.
    let mut worn = [0; NAMES as usize];
    (1001..=3000).for_each(|c| worn[District::nth(0).last_name(c) as usize] += 1);
    assert!(worn.iter().any(|times| *times > 10));
    assert!(worn.iter().filter(|times| **times == 0).count() > 300);
}

#[test]
fn one_row_in_ten_is_as_the_specification_wants_it() {
    let bad = texts(column_of("customer", "c_credit", 0..30_000));
    assert_eq!(bad.filter(|credit| credit == "BC").count(), 3000);
    for (table, column) in [("item", "i_data"), ("stock", "s_data")] {
        let original: Vec<u64> = texts(column_of(table, column, 0..20_000))
            .zip(0..)
            .filter(|(data, _)| data.contains("ORIGINAL"))
            .map(|(_, number)| number)
            .collect();
        assert_eq!(original.len(), 2000);
        assert!(original.iter().map(|number| number % 10).collect::<BTreeSet<_>>().len() == 10);
    }
}

#[test]
fn letters_are_of_every_kind_and_length() {
    let data: Vec<String> = texts(column_of("customer", "c_data", 0..3000)).collect();
    let lengths: BTreeSet<usize> = data.iter().map(String::len).collect();
    assert_eq!((lengths.first(), lengths.last()), (Some(&300), Some(&500)));
    assert_eq!(data.concat().bytes().collect::<BTreeSet<u8>>().len(), 62);
    let zips: Vec<String> = texts(column_of("customer", "c_zip", 0..100)).collect();
    assert!(zips.iter().all(|zip| zip.len() == 9 && zip.ends_with("11111")));
    assert!(zips.iter().all(|zip| zip.bytes().all(|digit| digit.is_ascii_digit())));
}

#[test]
fn each_customer_has_one_order_and_it_is_found_both_ways() {
    let mut shuffles = BTreeSet::new();
    for place in [0, 1, 10, 999] {
        let district = District::nth(place);
        let customers: Vec<u64> = (1..=ORDERS).map(|o| district.customer_of(o)).collect();
        assert_eq!(customers.iter().collect::<BTreeSet<_>>().len() as u64, CUSTOMERS);
        assert!(customers.iter().all(|customer| (1..=CUSTOMERS).contains(customer)));
        assert!(customers.iter().zip(1..).all(|(c, order)| district.order_of(*c) == order));
        let in_place = customers.iter().zip(1..).filter(|(c, order)| *c == order).count();
        assert!(in_place < 10, "{in_place} stayed where they were");
        shuffles.insert(customers);
    }
    assert_eq!(shuffles.len(), 4);
}

#[test]
fn only_the_last_nine_hundred_orders_of_a_district_are_not_delivered() {
    let district = District { warehouse: 2, number: 3 };
    let (mut counts, mut carriers) = (BTreeSet::new(), BTreeSet::new());
    for order in 1..=ORDERS {
        counts.insert(district.lines(order));
        carriers.extend(district.carrier(order));
        let delivered = order < 2101;
        assert_eq!(district.carrier(order).is_some(), delivered);
        for line in (1..=district.lines(order)).map(|line| district.line(order, line)) {
            assert_eq!(line.amount == 0, delivered);
            assert_eq!(line.delivered_us, delivered.then(|| entry_us(order)));
            assert!((1..=ITEMS).contains(&line.item) && line.amount <= 999_999);
        }
    }
    assert!(counts.into_iter().eq(5..=15) && carriers.into_iter().eq(1..=10));
    let first = numbers(column_of("new_order", "no_o_id", 0..UNDELIVERED));
    assert!(first.eq(2101..=3000));
}

#[test]
fn lines_come_order_by_order_and_district_by_district() {
    let mut row = 0;
    for place in 0..2 * DISTRICTS {
        let district = District::nth(place);
        for order in 1..=ORDERS {
            for line in 1..=district.lines(order) {
                assert_eq!(line_at(row), (district, order, line), "row {row}");
                row += 1;
            }
        }
    }
    assert_eq!(row, 2 * lines_a_warehouse());
}

fn load(database: &Connection, scale: u64, name: &str, key: &str, more: &[&str]) {
    let columns: Vec<&str> = key.split(", ").chain(more.iter().copied()).collect();
    let (table, places) = places(name, &columns);
    let listed = columns.join(", ");
    let sql = format!("CREATE TABLE {name} ({listed}, PRIMARY KEY ({key})) WITHOUT ROWID");
    database.execute_batch(&sql).unwrap();
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = database.prepare(&format!("INSERT INTO {name} VALUES ({marks})")).unwrap();
    for number in 0..Tpcc.tables(scale)[table].rows {
        let row = row(table, number);
        insert.execute(params_from_iter(places.iter().map(|place| &row[*place]))).unwrap();
    }
}

/// The consistency conditions of clause 3.3.2, and how many rows of one warehouse fulfill each.
const CONDITIONS: [(&str, i64); 4] = [
    (
        "SELECT count(*) FROM warehouse WHERE w_ytd = \
         (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)",
        1,
    ),
    (
        "SELECT count(*) FROM district WHERE d_next_o_id - 1 = \
         (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         AND d_next_o_id - 1 = \
         (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)",
        10,
    ),
    (
        "SELECT count(*) FROM (SELECT 1 FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING max(no_o_id) - min(no_o_id) + 1 = count(*))",
        10,
    ),
    (
        "SELECT count(*) FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS lines \
         FROM orders GROUP BY o_w_id, o_d_id) WHERE lines = \
         (SELECT count(*) FROM order_line WHERE ol_w_id = w AND ol_d_id = d)",
        10,
    ),
];

#[test]
fn a_database_of_it_is_consistent() {
    for warehouses in [1_u32, 3, 10] {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch("BEGIN").unwrap();
        for (name, key, more) in [
            ("warehouse", "w_id", &["w_ytd"][..]),
            ("district", "d_w_id, d_id", &["d_ytd", "d_next_o_id"]),
            ("new_order", "no_w_id, no_d_id, no_o_id", &[]),
            ("orders", "o_w_id, o_d_id, o_id", &["o_ol_cnt"]),
            ("order_line", "ol_w_id, ol_d_id, ol_o_id, ol_number", &[]),
        ] {
            load(&database, warehouses.into(), name, key, more);
        }
        for (number, (condition, times)) in (1..).zip(CONDITIONS) {
            let holds: i64 = database.query_row(condition, [], |row| row.get(0)).unwrap();
            assert_eq!(
                holds,
                times * i64::from(warehouses),
                "condition {number}, {warehouses} warehouses"
            );
        }
    }
}
