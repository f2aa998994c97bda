//! **tpcc**: the database of TPC-C as it is before the first transaction, at a scale of so many
//! warehouses: some 70 MB each.
//!
//! Method: nine tables with the row counts, value rules and NURand of clause 4.3.3.1 of the
//! specification, revision 5.11. Every value is drawn for its own place (`rules` for those that a
//! right answer rests on, `rows` for all others), so that rows come in any order and two loads are
//! equal. Money is in cents, taxes and discounts are in ten-thousandths, "the moment of loading" is a
//! fixed instant. The keys are those of clause 1.3, with two further indexes: customers by last and
//! first name, orders by customer.
//!
//! Limits: which order has how many lines is drawn for one warehouse and the same in each, so that a
//! line's order is found by its number. The sizes of columns are the specification's, their types
//! those that every database has. None of this is a TPC-C result, which needs all five transactions.

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
