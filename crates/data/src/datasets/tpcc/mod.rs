//! **tpcc**: the initial TPC-C database; the scale is warehouses of about 70 MB each.
//!
//! Method: row counts, value rules and NURand of clause 4.3.3.1, revision 5.11. Every value is
//! drawn by its position (`rules` for those that right answers need, `rows` for the others), so
//! that rows come in any order and two loads are equal. Money is in cents, taxes and discounts in
//! ten-thousandths, the load time is fixed. Keys are those of clause 1.3, plus indexes on customer
//! names and on orders by customer. Limits: the line counts of orders are the same in each
//! warehouse, so that a line's order follows from its number. Results are not TPC-C results, which
//! need all five transactions.

mod rows;
mod rules;
mod tables;
#[cfg(test)]
mod tests;

pub use rules::{
    BALANCE, CUSTOMERS, DISTRICTS, District, ITEMS, LINE_QUANTITY, MIDDLE_NAME, NAMES, ORDERS,
    entry_us, last_name, nurand, price, stock_quantity,
};
pub use tables::Tpcc;
