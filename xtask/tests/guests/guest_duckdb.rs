//! DuckDB in a guest: data on one node, worker threads near and far.

use xtask::vm::{Kernel, Load};

use crate::aboard::Aboard;
use crate::proofs::serves_both_arms;
use crate::steps::Steps;

#[test]
fn both_arms_are_placed_on_n2() {
    let duckdb = Aboard::duckdb().unwrap();
    let steps = Steps::on("n2", Kernel::V6_1, Load::One).unwrap().mib_per_node(1400);
    let tried = duckdb.comes_with(steps).step("duckdb", 600, &duckdb.both_arms()).run().unwrap();
    serves_both_arms(tried.step("duckdb"), 2, 6);
}
