//! The values of tpcc that right answers rest on, each found from its place alone.

use std::sync::OnceLock;

use fastrand::Rng;

use super::letters::{LETTERS, Letters};
use crate::datasets::series::Series;

/// Items, and the stock of each warehouse.
pub const ITEMS: u64 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Customers of a district.
pub const CUSTOMERS: u64 = 3000;
/// Orders of a district: one for each of its customers.
pub const ORDERS: u64 = CUSTOMERS;
/// Orders of a district that are not delivered yet, the last ones.
pub const UNDELIVERED: u64 = 900;
/// Last names. In each district, customer n + 1 has name n; all others have any of them.
pub const NAMES: u64 = 1000;
/// What everybody is called in the middle.
pub const MIDDLE_NAME: &str = "OE";
/// What every customer owes, in cents.
pub const BALANCE: i64 = -1000;
/// How many of its item each line of an order asks for.
pub const LINE_QUANTITY: i64 = 5;

/// 2011-06-01 00:00:00 UTC, the moment of loading.
pub const LOADED_US: i64 = 1_306_886_400_000_000;
const US_BETWEEN_ORDERS: i64 = 1_000_000;
/// The constant of NURand for last names while loading. Who draws names later uses another one.
const C_LOAD: u64 = 157;

const LAST_NAME: Series = Series::named("tpcc last name");
const FIRST_NAME: Series = Series::named("tpcc first name");
const PERMUTATION: Series = Series::named("tpcc permutation of customers");
const CARRIER: Series = Series::named("tpcc carrier");
const LINES: Series = Series::named("tpcc lines of an order");
const LINE: Series = Series::named("tpcc line");
const PRICE: Series = Series::named("tpcc price");
const QUANTITY: Series = Series::named("tpcc stock quantity");

/// A district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct District {
    /// The number of its warehouse, from 1.
    pub warehouse: u64,
    /// Its own number there, from 1.
    pub number: u64,
}

/// A line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What was ordered.
    pub item: u64,
    /// What it comes to, in cents.
    pub amount: i64,
    /// When it was delivered.
    pub delivered_us: Option<i64>,
}

impl District {
    /// The one in this place among all of them, from 0.
    pub const fn nth(place: u64) -> Self {
        Self { warehouse: place / DISTRICTS + 1, number: place % DISTRICTS + 1 }
    }

    const fn place(self) -> u64 {
        (self.warehouse - 1) * DISTRICTS + self.number - 1
    }

    /// The place, from 0, of a customer among all customers, and of an order among all orders.
    pub const fn row(self, id: u64) -> u64 {
        self.place() * CUSTOMERS + id - 1
    }

    /// The number of a customer's last name.
    #[inline]
    pub fn last_name(self, customer: u64) -> u64 {
        if customer <= NAMES {
            return customer - 1;
        }
        nurand(&mut LAST_NAME.dice(self.row(customer)), 255, [0, NAMES - 1], C_LOAD)
    }

    /// A customer's first name.
    pub fn first_name(self, customer: u64) -> Letters<16> {
        Letters::random(&mut FIRST_NAME.dice(self.row(customer)), LETTERS, 8..=16)
    }

    /// Whose an order is.
    pub fn customer_of(self, order: u64) -> u64 {
        let key = PERMUTATION.value(self.place());
        walk(order - 1, |number| {
            (0..ROUNDS).fold(number, |number, round| {
                let (left, right) = halves(number);
                join(right, left ^ noise(key, round, right))
            })
        }) + 1
    }

    /// The one order of a customer.
    pub fn order_of(self, customer: u64) -> u64 {
        let key = PERMUTATION.value(self.place());
        walk(customer - 1, |number| {
            (0..ROUNDS).rev().fold(number, |number, round| {
                let (left, right) = halves(number);
                join(right ^ noise(key, round, left), left)
            })
        }) + 1
    }

    /// Who delivered an order, where somebody has.
    pub fn carrier(self, order: u64) -> Option<i64> {
        is_delivered(order).then(|| CARRIER.dice(self.row(order)).i64(1..=10))
    }

    /// How many lines an order has.
    pub fn lines(self, order: u64) -> u64 {
        let starts = &starts()[self.row_in_warehouse(order)..];
        u64::from(starts[1] - starts[0])
    }

    /// A line of an order, from 1.
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

/// When an order came in.
pub const fn entry_us(order: u64) -> i64 {
    LOADED_US + order.cast_signed() * US_BETWEEN_ORDERS
}

const fn is_delivered(order: u64) -> bool {
    order <= ORDERS - UNDELIVERED
}

/// What an item costs, in cents.
#[inline]
pub fn price(item: u64) -> i64 {
    PRICE.dice(item).i64(100..=10_000)
}

/// How many of an item a warehouse has.
pub fn stock_quantity(warehouse: u64, item: u64) -> i64 {
    QUANTITY.dice((warehouse - 1) * ITEMS + item - 1).i64(10..=100)
}

/// A last name, by its number.
pub fn last_name(number: u64) -> Letters<16> {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let digits = [number / 100, number / 10, number].map(|digit| (digit % 10) as usize);
    digits.into_iter().fold(Letters::none(), |name, digit| name.and(SYLLABLES[digit]))
}

/// TPC-C's uneven dice: a number of a range in which some are far more frequent than others.
#[inline]
pub fn nurand(dice: &mut Rng, a: u64, [from, to]: [u64; 2], c: u64) -> u64 {
    ((dice.u64(0..=a) | dice.u64(from..=to)) + c) % (to - from + 1) + from
}

/// Before which line of its warehouse each order begins, and behind the last.
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

/// Lines of all orders of a warehouse.
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

// The permutation of a district's customers is a small Feistel network: two halves of six bits that
// scramble each other in turn, which can be run backwards. It permutes 4,096 numbers; one that leads
// out of the customers is sent through again until it is back among them.

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
