//! The values of tpcc that right answers need, each found from its position alone.

use std::sync::OnceLock;

use fastrand::Rng;

use crate::datasets::letters::{LETTERS, Letters};
use crate::datasets::series::Series;

/// Each warehouse stocks all of them.
pub const ITEMS: u64 = 100_000;
pub const DISTRICTS: u64 = 10;
pub const CUSTOMERS: u64 = 3000;
/// Per district: one for each customer.
pub const ORDERS: u64 = CUSTOMERS;
pub const UNDELIVERED: u64 = 900;
/// Last names. In each district, customer n + 1 has name n up to 1,000; the others have random
/// ones.
pub const NAMES: u64 = 1000;
pub const MIDDLE_NAME: &str = "OE";
/// In cents.
pub const BALANCE: i64 = -1000;
pub const LINE_QUANTITY: i64 = 5;

/// 2011-06-01 00:00:00 UTC.
pub const LOADED_US: i64 = 1_306_886_400_000_000;
const US_BETWEEN_ORDERS: i64 = 1_000_000;
/// NURand's constant for last names while loading; later draws use another.
const C_LOAD: u64 = 157;

const LAST_NAME: Series = Series::named("tpcc last name");
const FIRST_NAME: Series = Series::named("tpcc first name");
const PERMUTATION: Series = Series::named("tpcc permutation of customers");
const CARRIER: Series = Series::named("tpcc carrier");
const LINES: Series = Series::named("tpcc lines of an order");
const LINE: Series = Series::named("tpcc line");
const PRICE: Series = Series::named("tpcc price");
const QUANTITY: Series = Series::named("tpcc stock quantity");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct District {
    pub warehouse: u64,
    /// Within its warehouse, from 1.
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub item: u64,
    /// In cents.
    pub amount: i64,
    pub delivered_us: Option<i64>,
}

impl District {
    /// Counted from 0 over all warehouses.
    pub const fn nth(place: u64) -> Self {
        Self { warehouse: place / DISTRICTS + 1, number: place % DISTRICTS + 1 }
    }

    const fn place(self) -> u64 {
        (self.warehouse - 1) * DISTRICTS + self.number - 1
    }

    /// The row, from 0, of a customer among all customers, or of an order among all orders.
    pub const fn row(self, id: u64) -> u64 {
        self.place() * CUSTOMERS + id - 1
    }

    #[inline]
    pub fn last_name(self, customer: u64) -> u64 {
        if customer <= NAMES {
            return customer - 1;
        }
        nurand(&mut LAST_NAME.dice(self.row(customer)), 255, [0, NAMES - 1], C_LOAD)
    }

    pub fn first_name(self, customer: u64) -> Letters<16> {
        Letters::random(&mut FIRST_NAME.dice(self.row(customer)), LETTERS, 8..=16)
    }

    pub fn customer_of(self, order: u64) -> u64 {
        let key = PERMUTATION.value(self.place());
        walk(order - 1, |number| {
            (0..ROUNDS).fold(number, |number, round| {
                let (left, right) = halves(number);
                join(right, left ^ noise(key, round, right))
            })
        }) + 1
    }

    pub fn order_of(self, customer: u64) -> u64 {
        let key = PERMUTATION.value(self.place());
        walk(customer - 1, |number| {
            (0..ROUNDS).rev().fold(number, |number, round| {
                let (left, right) = halves(number);
                join(right ^ noise(key, round, left), left)
            })
        }) + 1
    }

    /// `None` if the order is not delivered.
    pub fn carrier(self, order: u64) -> Option<i64> {
        is_delivered(order).then(|| CARRIER.dice(self.row(order)).i64(1..=10))
    }

    pub fn lines(self, order: u64) -> u64 {
        let starts = &starts()[self.row_in_warehouse(order)..];
        u64::from(starts[1] - starts[0])
    }

    pub fn line(self, order: u64, line: u64) -> Line {
        let start = starts()[self.row_in_warehouse(order)];
        let row = (self.warehouse - 1) * lines_a_warehouse() + u64::from(start) + line - 1;
        let mut dice = LINE.dice(row);
        let delivered = is_delivered(order);
        Line {
            item: dice.u64(1..=ITEMS),
            amount: if delivered { 0 } else { dice.i64(1..=999_999) },
            delivered_us: delivered.then(|| entry_us(order)),
        }
    }

    const fn row_in_warehouse(self, order: u64) -> usize {
        ((self.number - 1) * ORDERS + order - 1) as usize
    }
}

pub const fn entry_us(order: u64) -> i64 {
    LOADED_US + order.cast_signed() * US_BETWEEN_ORDERS
}

const fn is_delivered(order: u64) -> bool {
    order <= ORDERS - UNDELIVERED
}

/// In cents.
#[inline]
pub fn price(item: u64) -> i64 {
    PRICE.dice(item).i64(100..=10_000)
}

pub fn stock_quantity(warehouse: u64, item: u64) -> i64 {
    QUANTITY.dice((warehouse - 1) * ITEMS + item - 1).i64(10..=100)
}

pub fn last_name(number: u64) -> Letters<16> {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let digits = [number / 100, number / 10, number].map(|digit| (digit % 10) as usize);
    digits.into_iter().fold(Letters::none(), |name, digit| name.and(SYLLABLES[digit]))
}

/// TPC-C's non-uniform random numbers.
#[inline]
pub fn nurand(dice: &mut Rng, a: u64, [from, to]: [u64; 2], c: u64) -> u64 {
    ((dice.u64(0..=a) | dice.u64(from..=to)) + c) % (to - from + 1) + from
}

/// The first line of each order, counted from 0 over its warehouse, and the end of the last order.
fn starts() -> &'static [u32] {
    static STARTS: OnceLock<Vec<u32>> = OnceLock::new();
    STARTS.get_or_init(|| {
        let mut lines = 0;
        let orders = (0..DISTRICTS * ORDERS).map(|order| {
            lines += LINES.dice(order).u32(5..=15);
            lines
        });
        std::iter::once(0).chain(orders).collect()
    })
}

pub fn lines_a_warehouse() -> u64 {
    starts().last().copied().unwrap_or_default().into()
}

/// The district, order and line of a row of order_line, counted from 0.
pub fn line_at(row: u64) -> (District, u64, u64) {
    let (before, row) = (row / lines_a_warehouse(), row % lines_a_warehouse());
    let behind = starts().partition_point(|start| u64::from(*start) <= row);
    let order = behind as u64 - 1;
    let district = District { warehouse: before + 1, number: order / ORDERS + 1 };
    (district, order % ORDERS + 1, row - u64::from(starts()[behind - 1]) + 1)
}

// A district's customers are permuted by a small Feistel network: two halves of six bits that
// scramble each other in turn, which is reversible. It permutes 4,096 numbers; a result that is no
// customer is permuted again until it is one.

const HALF: u32 = 6;
const ROUNDS: u64 = 4;

fn walk(number: u64, through: impl Fn(u64) -> u64) -> u64 {
    let mut number = through(number);
    while number >= CUSTOMERS {
        number = through(number);
    }
    number
}

const fn halves(number: u64) -> (u64, u64) {
    (number >> HALF, number & ((1 << HALF) - 1))
}

const fn join(left: u64, right: u64) -> u64 {
    (left << HALF) | right
}

const fn noise(key: u64, round: u64, half: u64) -> u64 {
    PERMUTATION.value(key ^ join(round, half)) >> (u64::BITS - HALF)
}
