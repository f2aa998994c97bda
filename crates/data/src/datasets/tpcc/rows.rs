//! The rows of tpcc, column by column.

use fastrand::Rng;
use hopcost_core::RowSink;

use super::rules::{
    BALANCE, CUSTOMERS, DISTRICTS, District, ITEMS, LINE_QUANTITY, LOADED_US, MIDDLE_NAME, ORDERS,
    UNDELIVERED, entry_us, last_name, line_at, price, stock_quantity,
};
use crate::datasets::letters::{CAPITALS, DIGITS, LETTERS, Letters};
use crate::datasets::series::Series;

pub const WRITERS: [fn(u64, &mut dyn RowSink); 9] =
    [warehouse, district, customer, history, new_order, order, order_line, item, stock];

const WAREHOUSE: Series = Series::named("tpcc warehouse");
const DISTRICT: Series = Series::named("tpcc district");
const CUSTOMER: Series = Series::named("tpcc customer");
const BAD_CREDIT: Series = Series::named("tpcc bad credit");
const HISTORY: Series = Series::named("tpcc history");
const LINE_INFO: Series = Series::named("tpcc line info");
const ITEM: Series = Series::named("tpcc item");
const ORIGINAL_ITEM: Series = Series::named("tpcc original item");
const STOCK: Series = Series::named("tpcc stock");
const ORIGINAL_STOCK: Series = Series::named("tpcc original stock");

/// In cents; a warehouse has the sum of its districts.
const DISTRICT_YTD: i64 = 3_000_000;
const WAREHOUSE_YTD: i64 = DISTRICTS.cast_signed() * DISTRICT_YTD;
/// By each customer, in cents.
const PAID: i64 = 1000;
const CREDIT_LIMIT: i64 = 5_000_000;

fn warehouse(number: u64, sink: &mut dyn RowSink) {
    let mut dice = WAREHOUSE.dice(number);
    id(number + 1, sink);
    letters::<10>(&mut dice, 6, sink);
    address(&mut dice, sink);
    sink.integer(tax(&mut dice));
    sink.integer(WAREHOUSE_YTD);
}

fn district(number: u64, sink: &mut dyn RowSink) {
    let mut dice = DISTRICT.dice(number);
    let district = District::nth(number);
    id(district.number, sink);
    id(district.warehouse, sink);
    letters::<10>(&mut dice, 6, sink);
    address(&mut dice, sink);
    sink.integer(tax(&mut dice));
    sink.integer(DISTRICT_YTD);
    id(ORDERS + 1, sink);
}

fn customer(number: u64, sink: &mut dyn RowSink) {
    let mut dice = CUSTOMER.dice(number);
    let (district, customer) = (District::nth(number / CUSTOMERS), number % CUSTOMERS + 1);
    id(customer, sink);
    id(district.number, sink);
    id(district.warehouse, sink);
    sink.text(district.first_name(customer).as_str());
    sink.text(MIDDLE_NAME);
    sink.text(last_name(district.last_name(customer)).as_str());
    address(&mut dice, sink);
    sink.text(Letters::<16>::random(&mut dice, DIGITS, 16..=16).as_str());
    sink.timestamp_us(LOADED_US);
    sink.text(if is_one_of_ten(BAD_CREDIT, number) { "BC" } else { "GC" });
    sink.integer(CREDIT_LIMIT);
    sink.integer(dice.i64(0..=5000));
    sink.integer(BALANCE);
    sink.integer(PAID);
    sink.integer(1);
    sink.integer(0);
    letters::<500>(&mut dice, 300, sink);
}

fn history(number: u64, sink: &mut dyn RowSink) {
    let (district, customer) = (District::nth(number / CUSTOMERS), number % CUSTOMERS + 1);
    id(customer, sink);
    for _ in 0..2 {
        id(district.number, sink);
        id(district.warehouse, sink);
    }
    sink.timestamp_us(LOADED_US);
    sink.integer(PAID);
    letters::<24>(&mut HISTORY.dice(number), 12, sink);
}

fn new_order(number: u64, sink: &mut dyn RowSink) {
    let district = District::nth(number / UNDELIVERED);
    id(ORDERS - UNDELIVERED + number % UNDELIVERED + 1, sink);
    id(district.number, sink);
    id(district.warehouse, sink);
}

fn order(number: u64, sink: &mut dyn RowSink) {
    let (district, order) = (District::nth(number / ORDERS), number % ORDERS + 1);
    id(order, sink);
    id(district.number, sink);
    id(district.warehouse, sink);
    id(district.customer_of(order), sink);
    sink.timestamp_us(entry_us(order));
    match district.carrier(order) {
        Some(carrier) => sink.integer(carrier),
        None => sink.null(),
    }
    id(district.lines(order), sink);
    sink.integer(1);
}

fn order_line(number: u64, sink: &mut dyn RowSink) {
    let (district, order, line) = line_at(number);
    let drawn = district.line(order, line);
    id(order, sink);
    id(district.number, sink);
    id(district.warehouse, sink);
    id(line, sink);
    id(drawn.item, sink);
    id(district.warehouse, sink);
    match drawn.delivered_us {
        Some(us) => sink.timestamp_us(us),
        None => sink.null(),
    }
    sink.integer(LINE_QUANTITY);
    sink.integer(drawn.amount);
    letters::<24>(&mut LINE_INFO.dice(number), 24, sink);
}

fn item(number: u64, sink: &mut dyn RowSink) {
    let mut dice = ITEM.dice(number);
    let item = number + 1;
    id(item, sink);
    sink.integer(dice.i64(1..=10_000));
    letters::<24>(&mut dice, 14, sink);
    sink.integer(price(item));
    data(&mut dice, is_one_of_ten(ORIGINAL_ITEM, number), sink);
}

fn stock(number: u64, sink: &mut dyn RowSink) {
    let mut dice = STOCK.dice(number);
    let (warehouse, item) = (number / ITEMS + 1, number % ITEMS + 1);
    id(item, sink);
    id(warehouse, sink);
    sink.integer(stock_quantity(warehouse, item));
    for _ in 0..DISTRICTS {
        letters::<24>(&mut dice, 24, sink);
    }
    for _ in 0..3 {
        sink.integer(0);
    }
    data(&mut dice, is_one_of_ten(ORIGINAL_STOCK, number), sink);
}

fn id(number: u64, sink: &mut dyn RowSink) {
    sink.integer(number.cast_signed());
}

fn letters<const MOST: usize>(dice: &mut Rng, least: usize, sink: &mut dyn RowSink) {
    sink.text(Letters::<MOST>::random(dice, LETTERS, least..=MOST).as_str());
}

fn address(dice: &mut Rng, sink: &mut dyn RowSink) {
    for _ in ["street 1", "street 2", "city"] {
        letters::<20>(dice, 10, sink);
    }
    sink.text(Letters::<2>::random(dice, CAPITALS, 2..=2).as_str());
    sink.text(Letters::<9>::random(dice, DIGITS, 4..=4).and("11111").as_str());
}

fn tax(dice: &mut Rng) -> i64 {
    dice.i64(0..=2000)
}

fn data(dice: &mut Rng, is_original: bool, sink: &mut dyn RowSink) {
    let data = Letters::<50>::random(dice, LETTERS, 26..=50);
    let data = if is_original { data.holding("ORIGINAL", dice) } else { data };
    sink.text(data.as_str());
}

fn is_one_of_ten(series: Series, number: u64) -> bool {
    series.dice(number / 10).u64(0..10) == number % 10
}
